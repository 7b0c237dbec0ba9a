/** The plugin: wires the pool to the sidebar, the status bar, the task panels, commands and settings. */

import { ILayoutRestorer, IRouter, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, WidgetTracker } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { IStatusBar } from '@jupyterlab/statusbar';

import { PoolApi } from './api';
import { AskedNotices } from './askednotice';
import { drawCards } from './cardrenderer';
import { TaskPanel } from './details';
import { EndedNotices } from './endednotice';
import { GroupPanel } from './groupdetails';
import { diamondIcon } from './icon';
import { addLaunching } from './launch/commands';
import { LaunchDesk } from './launch/desk';
import { PoolModel } from './pool';
import { drawProposals } from './proposalrenderer';
import { OPEN_SCREEN, addScreens } from './screens/commands';
import type { ScreenName } from './screens/registry';
import { DiamondSidebar, SIDEBAR_ID } from './sidebar';
import { StatusItem } from './statusitem';

const PLUGIN = 'jupyter-diamond:plugin';
const FOLDS = 'jupyter-diamond:folds';
const DEFAULT_RANK = 600;

export namespace CommandIDs {
  export const open = 'diamond:open';
  export const refresh = 'diamond:refresh';
  export const openTask = 'diamond:open-task';
  export const openGroup = 'diamond:open-group';
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: 'Your sites and tasks, live, in the left sidebar.',
  autoStart: true,
  optional: [
    ILayoutRestorer,
    ICommandPalette,
    ISettingRegistry,
    IStatusBar,
    IStateDB,
    IRenderMimeRegistry,
    ILauncher,
    IRouter
  ],
  activate
};

async function activate(
  app: JupyterFrontEnd,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  registry: ISettingRegistry | null,
  statusBar: IStatusBar | null,
  stateDb: IStateDB | null,
  rendermime: IRenderMimeRegistry | null,
  launcher: ILauncher | null,
  router: IRouter | null
): Promise<void> {
  const pool = new PoolModel(new PoolApi(app.serviceManager.serverSettings), app.serviceManager);
  const tracker = new WidgetTracker<TaskPanel>({ namespace: 'jupyter-diamond-tasks' });
  const groups = new WidgetTracker<GroupPanel>({ namespace: 'jupyter-diamond-groups' });
  const open = {
    task: (id: string) => void app.commands.execute(CommandIDs.openTask, { id }),
    group: (id: string) => void app.commands.execute(CommandIDs.openGroup, { id }),
    screen: (screen: ScreenName) => void app.commands.execute(OPEN_SCREEN, { screen })
  };
  addCommands(app, pool, tracker, palette);
  addGroupCommand(app, pool, groups, open.task);
  const desk = new LaunchDesk(app, () => open.screen('launch'));
  const context = { pool, openTask: open.task, openGroup: open.group, openScreen: open.screen, desk };
  addScreens(app, context, { restorer, palette, launcher, router });
  addLaunching(app, desk, palette);
  drawCards(app, pool, open);
  if (rendermime !== null) {
    drawProposals(rendermime, pool, open.task);
  }
  void restorer?.restore(groups, {
    command: CommandIDs.openGroup,
    args: panel => ({ id: panel.groupId }),
    name: panel => panel.groupId
  });
  void restorer?.restore(tracker, {
    command: CommandIDs.openTask,
    args: panel => ({ id: panel.taskId }),
    name: panel => panel.taskId
  });
  statusBar?.registerStatusItem(PLUGIN, {
    item: new StatusItem(pool, () => void app.commands.execute(CommandIDs.open)),
    align: 'left',
    rank: 20
  });
  const notices = new EndedNotices(app, pool, {
    ...open,
    sidebar: () => void app.commands.execute(CommandIDs.open)
  });
  new AskedNotices(pool.agents, () => void app.commands.execute(CommandIDs.open));
  const rank = await readSettings(pool, notices, registry);
  const folds: { [site: string]: boolean } = {};
  const sidebar = new DiamondSidebar({
    pool,
    openTask: open.task,
    openGroup: open.group,
    openScreen: open.screen,
    folds,
    saveFolds: folds => void stateDb?.save(FOLDS, folds)
  });
  app.shell.add(sidebar, 'left', { rank, type: 'Diamond' });
  restorer?.add(sidebar, SIDEBAR_ID);
  // not awaited: the state database opens only after every plugin is active
  void readFolds(stateDb, folds).then(() => sidebar.update());
  // JupyterLab's own requests come first: nothing of ours is in sight before its layout stands
  void app.restored.then(() => pool.check());
}

function addCommands(
  app: JupyterFrontEnd,
  pool: PoolModel,
  tracker: WidgetTracker<TaskPanel>,
  palette: ICommandPalette | null
): void {
  app.commands.addCommand(CommandIDs.open, {
    label: 'Open the Diamond Sidebar',
    caption: 'Show your sites and tasks',
    icon: diamondIcon,
    execute: () => app.shell.activateById(SIDEBAR_ID)
  });
  app.commands.addCommand(CommandIDs.refresh, {
    label: 'Refresh Sites and Tasks',
    caption: 'Ask every site for new facts',
    execute: () => pool.refresh()
  });
  app.commands.addCommand(CommandIDs.openTask, {
    label: 'Open a Diamond Task',
    execute: args => {
      const id = String(args['id'] ?? '');
      let panel = tracker.find(each => each.taskId === id);
      if (panel === undefined) {
        panel = new TaskPanel(pool, id);
        app.shell.add(panel, 'main');
        void tracker.add(panel);
      }
      app.shell.activateById(panel.id);
    }
  });
  for (const command of [CommandIDs.open, CommandIDs.refresh]) {
    palette?.addItem({ command, category: 'Diamond' });
  }
}

function addGroupCommand(
  app: JupyterFrontEnd,
  pool: PoolModel,
  tracker: WidgetTracker<GroupPanel>,
  openTask: (id: string) => void
): void {
  app.commands.addCommand(CommandIDs.openGroup, {
    label: 'Open a Diamond Group',
    execute: args => {
      const id = String(args['id'] ?? '');
      let panel = tracker.find(each => each.groupId === id);
      if (panel === undefined) {
        panel = new GroupPanel(pool, id, openTask);
        app.shell.add(panel, 'main');
        void tracker.add(panel);
      }
      app.shell.activateById(panel.id);
    }
  });
}

/** Follows the settings; answers the rank, which holds from the next page load on. */
async function readSettings(
  pool: PoolModel,
  notices: EndedNotices,
  registry: ISettingRegistry | null
): Promise<number> {
  if (registry === null) {
    return DEFAULT_RANK;
  }
  try {
    const settings = await registry.load(PLUGIN);
    const apply = () => {
      pool.setRefresh(Number(settings.get('refreshSeconds').composite));
      notices.enabled = settings.get('notifyOnEnd').composite !== false;
    };
    apply();
    settings.changed.connect(apply);
    return Number(settings.get('sidebarRank').composite);
  } catch (reason) {
    console.warn('Diamond: its settings cannot be read; the defaults hold.', reason);
    return DEFAULT_RANK;
  }
}

async function readFolds(stateDb: IStateDB | null, folds: { [site: string]: boolean }): Promise<void> {
  const saved = await stateDb?.fetch(FOLDS);
  if (typeof saved === 'object' && saved !== null) {
    for (const [site, open] of Object.entries(saved)) {
      folds[site] ??= open === true;
    }
  }
}

export default plugin;
