/** The ways to the sheet that bring something along: a cell's toolbar, a selection, a script in the file browser. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';

import { diamondIcon } from '../icon';
import type { LaunchDesk } from './desk';

const CELL = 'diamond:launch-cell';
const SELECTION = 'diamond:launch-selection';
const FILE = 'diamond:launch-file';

export function addLaunching(app: JupyterFrontEnd, desk: LaunchDesk, palette: ICommandPalette | null): void {
  for (const [command, kind, label] of [
    [CELL, 'cell', 'Launch This Cell with Diamond…'],
    [SELECTION, 'selection', 'Launch the Selected Code with Diamond…']
  ] as const) {
    app.commands.addCommand(command, {
      label,
      caption: 'What it needs, and where it would go now; nothing is sent yet',
      icon: diamondIcon,
      execute: () => {
        const seed = desk.cell(kind);
        if (seed === null) {
          const what = kind === 'cell' ? 'Click into a code cell of a notebook' : 'Select code within a cell of a notebook';
          Notification.warning(`${what} first, then launch it.`, { autoClose: 6000 });
        } else {
          desk.bring(seed);
        }
      }
    });
    palette?.addItem({ command, category: 'Diamond' });
  }
  app.commands.addCommand(FILE, {
    label: 'Launch with Diamond…',
    caption: 'What the script needs, and where it would go now; nothing is sent yet',
    icon: diamondIcon,
    isVisible: () => desk.chosenFile() !== null,
    execute: async args => {
      const path = typeof args['path'] === 'string' ? args['path'] : desk.chosenFile();
      try {
        desk.bring(await desk.file(path ?? ''));
      } catch (reason) {
        Notification.error(reason instanceof Error ? reason.message : String(reason), { autoClose: 8000 });
      }
    }
  });
}
