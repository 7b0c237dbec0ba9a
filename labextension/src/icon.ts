import { LabIcon } from '@jupyterlab/ui-components';

/** A cut stone seen from the side: table, crown and pavilion. */
export const diamondIcon = new LabIcon({
  name: 'jupyter-diamond:icon',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" fill-rule="evenodd"
    d="M6.4 3.5h11.2L22 9.6 12 21.5 2 9.6zM7.3 5.3 4.8 8.8h3.6l1.7-3.5zm4.7.2L10.4 8.8h3.2zm1.9-.2 1.7 3.5h3.6l-2.5-3.5zM4.9 10.5l5 5.9-1.8-5.9zm4.9 0L12 17.9l2.2-7.4zm6.1 0-1.8 5.9 5-5.9z"/>
</svg>`
});
