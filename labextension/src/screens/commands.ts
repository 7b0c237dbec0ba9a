/** Every way to a screen: the launcher, the palette, the sidebar, the page's address, and the layout of the last visit. */

import type { ILayoutRestorer, IRouter, JupyterFrontEnd } from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import type { ILauncher } from '@jupyterlab/launcher';

import { diamondIcon } from '../icon';
import { askedFor, withoutAsked } from './address';
import { ScreenPanel } from './panel';
import { SCREENS, ScreenName, isScreen } from './registry';
import type { ScreenContext } from './view';

export const OPEN_SCREEN = 'diamond:open-screen';
const OPEN_ADDRESS = 'diamond:open-address';
const CATEGORY = 'Diamond';

interface Places {
  readonly restorer: ILayoutRestorer | null;
  readonly palette: ICommandPalette | null;
  readonly launcher: ILauncher | null;
  readonly router: IRouter | null;
}

export function addScreens(app: JupyterFrontEnd, context: ScreenContext, places: Places): void {
  const tracker = new WidgetTracker<ScreenPanel>({ namespace: 'jupyter-diamond-screens' });
  app.commands.addCommand(OPEN_SCREEN, {
    label: args => {
      const name = String(args['screen'] ?? '');
      const label = isScreen(name) ? SCREENS[name].label : 'Screen';
      return args['short'] === true ? label : `Open the Diamond ${label}`;
    },
    caption: args => SCREENS[args['screen'] as ScreenName]?.caption ?? '',
    icon: diamondIcon,
    execute: args => {
      const name = String(args['screen'] ?? '');
      if (!isScreen(name)) {
        throw new Error(`Diamond has no screen called ${name}; it has ${Object.keys(SCREENS).join(', ')}.`);
      }
      let panel = tracker.find(each => each.screen === name);
      if (panel === undefined) {
        panel = new ScreenPanel(name, context);
        app.shell.add(panel, 'main');
        void tracker.add(panel);
      }
      app.shell.activateById(panel.id);
    }
  });
  for (const [rank, screen] of Object.keys(SCREENS).entries()) {
    places.palette?.addItem({ command: OPEN_SCREEN, args: { screen }, category: CATEGORY });
    places.launcher?.add({ command: OPEN_SCREEN, args: { screen, short: true }, category: CATEGORY, rank });
  }
  void places.restorer?.restore(tracker, {
    command: OPEN_SCREEN,
    args: panel => ({ screen: panel.screen }),
    name: panel => panel.screen
  });
  if (places.router !== null) {
    followAddress(app, context, places.router);
  }
}

/** Opens what `?diamond=…` asks for once the layout stands, wherever the server's base and the workspace are. */
function followAddress(app: JupyterFrontEnd, context: ScreenContext, router: IRouter): void {
  app.commands.addCommand(OPEN_ADDRESS, {
    execute: async args => {
      const asked = askedFor(String(args['search'] ?? ''));
      await app.restored;
      for (const { kind, id } of asked) {
        if (isScreen(kind)) {
          context.openScreen(kind);
        } else if (kind === 'task' && id !== '') {
          context.openTask(id);
        } else if (kind === 'group' && id !== '') {
          context.openGroup(id);
        } else {
          console.warn(`Diamond: the address asks for ${kind}, which is not known here.`);
        }
      }
      const { path, search, hash } = router.current;
      router.navigate(withoutAsked(path, search ?? '', hash ?? ''), { skipRouting: true });
    }
  });
  router.register({ command: OPEN_ADDRESS, pattern: /[?&]diamond=/ });
}
