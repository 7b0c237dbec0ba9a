/** The screens there are. Each is loaded when it is first opened: a page that shows none pays for none. */

import type { Widget } from '@lumino/widgets';

import type { ScreenContext } from './view';

export type ScreenName = 'wall' | 'tasks' | 'idle' | 'launch';

export interface Screen {
  readonly label: string;
  readonly caption: string;
  readonly load: (context: ScreenContext) => Promise<Widget>;
}

export const SCREENS: { readonly [name in ScreenName]: Screen } = {
  wall: {
    label: 'Wall',
    caption: 'Every site and partition: what is free, who waits, how long you would',
    load: async context => new (await import('../wall/wallscreen')).WallScreen(context)
  },
  tasks: {
    label: 'Tasks',
    caption: 'All tasks and groups: find, compare, cancel, plan anew',
    load: async context => new (await import('../board/boardscreen')).BoardScreen(context)
  },
  idle: {
    label: 'Idle Finder',
    caption: 'Where a job of yours could start now',
    load: async context => new (await import('../idle/idlescreen')).IdleScreen(context)
  },
  launch: {
    label: 'Launch Sheet',
    caption: 'Launch a cell, a script or a command: what it needs, and where it would go now',
    load: async context => new (await import('../launch/launchscreen')).LaunchScreen(context)
  }
};

export function isScreen(name: string): name is ScreenName {
  return Object.prototype.hasOwnProperty.call(SCREENS, name);
}
