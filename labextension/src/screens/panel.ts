import { MainAreaWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import { BoxLayout, BoxPanel, Widget } from '@lumino/widgets';

import { diamondIcon } from '../icon';
import { SCREENS, ScreenName } from './registry';
import type { ScreenContext } from './view';

/** One screen in the main area. It stands at once, and shows its view as soon as that has been loaded. */
export class ScreenPanel extends MainAreaWidget<BoxPanel> {
  constructor(
    readonly screen: ScreenName,
    context: ScreenContext
  ) {
    const content = new BoxPanel({ spacing: 0 });
    super({ content, reveal: fill(content, screen, context) });
    const { label, caption } = SCREENS[screen];
    this.id = `jupyter-diamond-${screen}`;
    this.addClass('jp-diamond-screenpanel');
    this.title.label = label;
    this.title.caption = caption;
    this.title.icon = diamondIcon;
    this.title.closable = true;
    this.toolbar.hide();
  }

  /** The view takes the keys. */
  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.content.widgets[0]?.activate();
  }
}

async function fill(content: BoxPanel, screen: ScreenName, context: ScreenContext): Promise<void> {
  let view: Widget;
  try {
    view = await SCREENS[screen].load(context);
  } catch (reason) {
    console.error(`Diamond: the screen ${screen} cannot be loaded.`, reason);
    throw new Error('This screen cannot be loaded: the server may have been updated. Reload the page.');
  }
  if (content.isDisposed) {
    view.dispose();
    return;
  }
  BoxLayout.setStretch(view, 1);
  content.addWidget(view);
  view.activate();
}
