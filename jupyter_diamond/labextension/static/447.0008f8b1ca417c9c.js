"use strict";(self.rspackChunkjupyter_diamond=self.rspackChunkjupyter_diamond||[]).push([[447],{8475(o,a,d){var i=d(1601),n=d.n(i),r=d(6314),e=(d.n(r))()(n());e.push([o.id,`/* Only --jp-* variables: whatever the theme is, it looks like a part of JupyterLab. */

.jp-diamond-sidebar,
.jp-diamond-details,
.jp-diamond-keptcard,
.jp-diamond-keptoutputs,
.jp-diamond-statusitem {
  --jp-diamond-gap: 8px;
  --jp-diamond-small: var(--jp-ui-font-size0);
  --jp-diamond-quiet: var(--jp-ui-font-color2);
}

.jp-diamond-sidebar {
  display: flex;
  flex-direction: column;
  min-width: 220px;
  overflow: hidden auto;
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
  line-height: 1.35;
}

.jp-diamond-sidebar ul,
.jp-diamond-details ul {
  margin: 0;
  padding: 0;
  list-style: none;
}

.jp-diamond-sidebar p,
.jp-diamond-details p {
  margin: 0;
}

.jp-diamond-sidebar code,
.jp-diamond-details code {
  font-family: var(--jp-code-font-family);
  font-size: 0.92em;
  overflow-wrap: anywhere;
}

/* every button here is text first; focus is always visible */

.jp-diamond-sidebar button,
.jp-diamond-details button,
.jp-diamond-statusitem button {
  margin: 0;
  padding: 0;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  font-variant-numeric: inherit;
  text-align: start;
  cursor: pointer;
}

.jp-diamond-sidebar button:focus-visible,
.jp-diamond-details button:focus-visible,
.jp-diamond-details pre:focus-visible,
.jp-diamond-identity:focus-visible,
.jp-diamond-statusitem button:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.jp-diamond-sidebar button:disabled,
.jp-diamond-details button:disabled {
  color: var(--jp-ui-font-color3);
  cursor: default;
}

.jp-diamond-link.jp-diamond-link {
  color: var(--jp-content-link-color);
  font-size: var(--jp-diamond-small);
  white-space: nowrap;
}

.jp-diamond-link:hover:enabled {
  text-decoration: underline;
}

/* tones: always beside a shape and a word */

.jp-diamond-tone-info {
  color: var(--jp-info-color1);
}

.jp-diamond-tone-neutral {
  color: var(--jp-ui-font-color1);
}

.jp-diamond-tone-accent {
  color: var(--jp-brand-color1);
}

.jp-diamond-tone-success {
  color: var(--jp-success-color1);
}

.jp-diamond-tone-error {
  color: var(--jp-error-color1);
}

.jp-diamond-tone-muted {
  color: var(--jp-ui-font-color2);
}

.jp-diamond-tone-warning {
  color: var(--jp-warn-color1);
}

.jp-diamond-mark {
  display: block;
  flex: none;
  width: 12px;
  height: 12px;
}

.jp-diamond-mark.jp-mod-fresh {
  animation: jp-diamond-arrive 500ms ease-out;
}

@keyframes jp-diamond-arrive {
  from {
    opacity: 0;
    transform: scale(1.8);
  }
}

@media (prefers-reduced-motion: reduce) {
  .jp-diamond-mark.jp-mod-fresh {
    animation: none;
  }
}

/* sections */

.jp-diamond-section {
  flex: none;
  container-type: inline-size;
}

.jp-diamond-tasksection {
  flex: 1 0 auto;
  border-top: 1px solid var(--jp-border-color2);
}

.jp-diamond-head {
  position: sticky;
  top: 0;
  z-index: 1;
  display: flex;
  align-items: center;
  justify-content: space-between;
  box-sizing: border-box;
  height: 28px;
  padding: 0 var(--jp-diamond-gap);
  background: var(--jp-layout-color1);
}

.jp-diamond-head h2 {
  margin: 0;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-diamond-small);
  font-weight: 600;
  letter-spacing: 0.08em;
  text-transform: uppercase;
}

.jp-diamond-counts {
  min-width: 0;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-sidebar .jp-diamond-iconbutton {
  display: grid;
  place-items: center;
  width: 20px;
  height: 20px;
  margin-inline-end: -4px;
  border-radius: var(--jp-border-radius);
}

.jp-diamond-iconbutton:hover:enabled {
  background: var(--jp-layout-color2);
}

.jp-diamond-iconbutton[aria-busy='true'] {
  opacity: 0.4;
}

.jp-diamond-iconbutton > span {
  display: grid;
}

.jp-diamond-sidebar .jp-diamond-empty,
.jp-diamond-details .jp-diamond-empty {
  padding: 2px var(--jp-diamond-gap) 8px;
  color: var(--jp-diamond-quiet);
}

.jp-diamond-name {
  overflow: hidden;
  font-weight: 500;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-means,
.jp-diamond-age,
.jp-diamond-fine {
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-age {
  text-align: end;
  white-space: nowrap;
}

.jp-diamond-age.jp-mod-old,
.jp-diamond-word {
  color: var(--jp-ui-font-color1);
}

.jp-diamond-spoken {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

/* sites */

.jp-diamond-sums {
  display: flex;
  flex-wrap: wrap;
  gap: 0 10px;
  padding: 0 var(--jp-diamond-gap) 4px;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-sums b {
  color: var(--jp-ui-font-color1);
  font-weight: 600;
}

.jp-diamond-sites {
  display: grid;
  grid-template-columns: minmax(72px, 1fr) 28px repeat(3, max-content) fit-content(90px);
  column-gap: 6px;
  padding-bottom: 6px !important;
}

.jp-diamond-columns {
  display: grid;
  grid-template-columns: subgrid;
  padding: 0 var(--jp-diamond-gap) 0 18px;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-columns > span {
  text-align: end;
  white-space: nowrap;
}

.jp-diamond-columns > span:nth-child(-n + 2) {
  overflow: hidden;
  text-align: start;
  text-overflow: ellipsis;
}

.jp-diamond-site {
  position: relative;
}

.jp-diamond-site.jp-mod-simulated::before {
  position: absolute;
  inset: 0 auto 0 0;
  width: 4px;
  background: repeating-linear-gradient(
    135deg,
    var(--jp-border-color1) 0 3px,
    transparent 3px 6px
  );
  content: '';
}

.jp-diamond-sidebar .jp-diamond-siterow {
  display: grid;
  grid-template-columns: 12px auto minmax(0, 1fr) auto auto;
  align-items: center;
  gap: 6px;
  width: 100%;
  height: 24px;
  padding: 0 var(--jp-diamond-gap) 0 6px;
}

.jp-diamond-siterow:hover,
.jp-diamond-partition:hover,
.jp-diamond-taskrow:hover {
  background: var(--jp-layout-color2) !important;
}

.jp-diamond-siterow .jp-diamond-name {
  max-width: 130px;
}

.jp-diamond-health {
  display: flex;
  align-items: center;
  gap: 4px;
  font-size: var(--jp-diamond-small);
  white-space: nowrap;
}

.jp-diamond-siterow .jp-diamond-means {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-twist {
  display: block;
  flex: none;
  width: 10px;
  height: 10px;
  color: var(--jp-ui-font-color2);
}

[aria-expanded='true'] > .jp-diamond-twist {
  transform: rotate(90deg);
}

.jp-diamond-problem {
  padding: 0 var(--jp-diamond-gap) 4px 24px !important;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-diamond-small);
  overflow-wrap: anywhere;
}

.jp-diamond-site .jp-diamond-empty {
  padding: 0 var(--jp-diamond-gap) 4px 24px;
  font-size: var(--jp-diamond-small);
}

/* one grid for all sites: bars and numbers stand under each other across sites */

.jp-diamond-site > *,
.jp-diamond-sites > li,
.jp-diamond-partition {
  grid-column: 1 / -1;
}

.jp-diamond-site,
.jp-diamond-partitions,
.jp-diamond-partition {
  display: grid;
  grid-template-columns: subgrid;
}

.jp-diamond-partition {
  align-items: center;
  min-height: 20px;
  padding: 0 var(--jp-diamond-gap) 0 18px;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-namecell {
  display: flex;
  min-width: 0;
}

.jp-diamond-sidebar .jp-diamond-partition .jp-diamond-name {
  min-width: 0;
  overflow: hidden;
  font-weight: 400;
  text-overflow: ellipsis;
}

.jp-diamond-free,
.jp-diamond-pend,
.jp-diamond-mine,
.jp-diamond-cap {
  text-align: end;
  white-space: nowrap;
}

.jp-diamond-pend,
.jp-diamond-cap,
.jp-diamond-rowfacts {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-cap {
  overflow: hidden;
  text-overflow: ellipsis;
}

.jp-diamond-narrowword {
  display: none;
}

/* too narrow for six columns: yours and limit stand below, with their words */

@container (max-width: 359px) {
  .jp-diamond-sites {
    grid-template-columns: minmax(60px, 1fr) 28px repeat(2, max-content);
  }

  .jp-diamond-columns > span:nth-child(n + 5) {
    display: none;
  }

  /* a site that is not well says so below its name, so that there is room for how it is reached */
  .jp-diamond-sidebar .jp-diamond-site:not([data-health='online']) > .jp-diamond-siterow {
    grid-template-columns: 12px auto minmax(0, 1fr) auto;
    gap: 0 6px;
    height: auto;
    padding-block: 3px 2px;
  }

  .jp-diamond-site:not([data-health='online']) .jp-diamond-health {
    grid-column: 2 / -1;
  }

  .jp-diamond-narrowword {
    display: inline;
    color: var(--jp-diamond-quiet);
  }

  .jp-diamond-mine {
    grid-column: 1;
    text-align: start;
  }

  .jp-diamond-cap {
    grid-column: 2 / -1;
  }

  .jp-diamond-partition {
    padding-bottom: 3px;
  }
}

.jp-diamond-rowfacts {
  grid-column: 1 / -1;
  padding-bottom: 4px;
  overflow-wrap: anywhere;
}

.jp-diamond-partitions > .jp-diamond-link {
  grid-column: 1 / -1;
  padding-inline-start: 18px !important;
}

.jp-diamond-partition.jp-mod-closed,
.jp-diamond-partitions.jp-mod-stale {
  color: var(--jp-ui-font-color2);
}

.jp-diamond-busybar {
  display: grid;
  grid-template-columns: repeat(8, 2px);
  gap: 1px;
  height: 9px;
}

.jp-diamond-busybar > i {
  border-radius: 1px;
  background: var(--jp-layout-color3);
}

.jp-diamond-busybar > i.jp-mod-lit {
  background: var(--jp-ui-font-color2);
}

.jp-diamond-busybar.jp-mod-unknown,
.jp-diamond-thinbar.jp-mod-unknown {
  border: 1px dashed var(--jp-border-color1);
  background: none;
}

.jp-diamond-busybar.jp-mod-unknown {
  box-sizing: border-box;
  border-radius: 1px;
}

/* login */

.jp-diamond-gate {
  display: flex;
  flex-direction: column;
  gap: 6px;
  margin: 2px var(--jp-diamond-gap) 8px;
  padding: 8px;
  border: 1px solid var(--jp-border-color2);
  border-inline-start: 3px solid var(--jp-brand-color1);
  border-radius: var(--jp-border-radius);
  overflow-wrap: anywhere;
}

.jp-diamond-sidebar .jp-diamond-button {
  padding: 2px 10px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  font-size: var(--jp-diamond-small);
  line-height: 18px;
}

.jp-diamond-sidebar .jp-diamond-button.jp-mod-primary:enabled {
  border-color: var(--jp-brand-color0);
  background: var(--jp-brand-color0);
  color: var(--jp-ui-inverse-font-color0);
}

.jp-diamond-sidebar .jp-diamond-button.jp-mod-primary:hover:enabled {
  background: var(--jp-brand-color1) !important;
}

.jp-diamond-sidebar .jp-diamond-button:focus-visible {
  outline-offset: 1px;
}

.jp-diamond-code {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px;
}

.jp-diamond-code label {
  display: flex;
  flex: 1 1 120px;
  align-items: center;
  gap: 6px;
  min-width: 0;
}

.jp-diamond-code input {
  box-sizing: border-box;
  flex: 1;
  min-width: 0;
  height: 24px;
  padding: 0 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-code input:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
}

.jp-diamond-gateproblem {
  border-inline-start: 3px solid var(--jp-error-color1);
  padding-inline-start: 6px;
  overflow-wrap: anywhere;
}

.jp-diamond-sidebar .jp-diamond-identity {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 8px;
  padding: 0 var(--jp-diamond-gap) 8px;
  overflow-wrap: anywhere;
}

/* tasks */

.jp-diamond-task {
  content-visibility: auto;
  contain-intrinsic-size: auto 40px;
}

.jp-diamond-sidebar .jp-diamond-taskrow {
  display: grid;
  grid-template-columns: 12px minmax(0, 1fr);
  align-items: center;
  column-gap: 6px;
  width: 100%;
  padding: 3px var(--jp-diamond-gap) 4px 6px;
}

.jp-diamond-line {
  display: flex;
  align-items: baseline;
  justify-content: space-between;
  gap: 8px;
  min-width: 0;
}

.jp-diamond-second {
  grid-column: 2;
}

.jp-diamond-time {
  font-size: var(--jp-diamond-small);
  text-align: end;
  white-space: nowrap;
}

.jp-diamond-words {
  overflow: hidden;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-taskrow > .jp-diamond-thinbar {
  grid-column: 2;
  margin: 3px 0 2px;
}

.jp-diamond-group {
  position: relative;
}

.jp-diamond-sidebar .jp-diamond-fold {
  position: absolute;
  top: 1px;
  right: 0;
  z-index: 1;
  width: 18px;
  padding: 2px 0;
  color: var(--jp-diamond-quiet);
}

.jp-diamond-sidebar .jp-diamond-group > .jp-diamond-taskrow {
  padding-inline-end: 20px;
}

.jp-diamond-groupcount {
  font-weight: 600;
  font-variant-numeric: tabular-nums;
}

.jp-diamond-members {
  padding-inline-start: 16px;
}

.jp-diamond-allmembers {
  padding: 2px 0 6px 24px;
}

.jp-diamond-groupbar {
  display: flex;
  gap: 1px;
  height: 6px;
  overflow: hidden;
  border-radius: 2px;
  background: var(--jp-layout-color3);
}

.jp-diamond-taskrow > .jp-diamond-groupbar {
  grid-column: 2;
  height: 4px;
  margin: 3px 0 2px;
}

.jp-diamond-groupbar > div {
  flex: 0 1 0;
  min-width: 2px;
}

.jp-diamond-groupbar > [class*='tone-'] {
  background: currentColor;
}

.jp-diamond-groupbar > .jp-diamond-tone-neutral {
  background: var(--jp-border-color1);
}

.jp-diamond-groupcounts {
  display: flex;
  flex-wrap: wrap;
  column-gap: 16px;
}

.jp-diamond-groupcounts > span {
  display: inline-flex;
  align-items: center;
  gap: 4px;
}

.jp-diamond-groupcounts .jp-diamond-mark,
.jp-diamond-memberlist td .jp-diamond-mark {
  display: inline-block;
  width: 10px;
  height: 10px;
}

.jp-diamond-memberlist td {
  white-space: nowrap;
}

.jp-diamond-memberlist td.jp-diamond-data {
  white-space: normal;
}

.jp-diamond-groupfailures {
  margin: 0;
  padding: 0;
  list-style: none;
  overflow-wrap: anywhere;
}

.jp-diamond-groupfailures strong {
  color: var(--jp-error-color1);
  font-weight: 600;
}

.jp-diamond-details .jp-diamond-filter {
  flex: 0 1 320px;
  min-width: 120px;
  padding: 2px 8px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color0);
  color: inherit;
  font: inherit;
}

.jp-diamond-cause {
  display: -webkit-box;
  grid-column: 2;
  overflow: hidden;
  font-size: var(--jp-diamond-small);
  overflow-wrap: anywhere;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 2;
}

.jp-diamond-cause.jp-mod-trouble {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-thinbar {
  box-sizing: border-box;
  height: 3px;
  overflow: hidden;
  border-radius: 1px;
  background: var(--jp-layout-color3);
}

.jp-diamond-thinbar > div {
  height: 100%;
  background: var(--jp-brand-color1);
}

.jp-diamond-thinbar.jp-mod-late > div {
  background: var(--jp-warn-color1);
}

.jp-diamond-sidebar .jp-diamond-older {
  display: block;
  margin: 6px auto 10px;
}

/* notice */

.jp-diamond-notice {
  margin: 2px var(--jp-diamond-gap) 8px;
  padding: 8px;
  border: 1px solid var(--jp-border-color2);
  border-inline-start: 3px solid var(--jp-warn-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
}

.jp-diamond-notice > * + * {
  margin-top: 6px !important;
}

.jp-diamond-command {
  display: flex;
  align-items: center;
  gap: 8px;
  padding: 4px 6px;
  background: var(--jp-layout-color2);
}

.jp-diamond-command > code {
  flex: 1;
  user-select: all;
}

/* status bar */

.jp-diamond-statusitem button {
  height: 100%;
  padding: 0 6px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
  line-height: 24px;
  white-space: nowrap;
}

.jp-diamond-statusitem button:hover {
  background: var(--jp-layout-color3);
}

/* details */

.jp-diamond-details {
  display: flex;
  flex-direction: column;
  overflow: hidden;
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
  line-height: 1.4;
}

.jp-diamond-dhead {
  flex: none;
  padding: 10px 16px 8px;
}

.jp-diamond-dhead > * + * {
  margin-top: 6px !important;
}

.jp-diamond-dline,
.jp-diamond-dstate,
.jp-diamond-actions,
.jp-diamond-logline {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 6px;
}

.jp-diamond-dline h2 {
  margin: 0 8px 0 0;
  font-size: var(--jp-ui-font-size2);
  font-weight: 600;
}

.jp-diamond-dstate .jp-diamond-means {
  margin-inline-start: 6px;
}

.jp-diamond-spring {
  flex: 1;
}

.jp-diamond-details .jp-diamond-button {
  padding: 2px 10px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  font-size: var(--jp-diamond-small);
  line-height: 18px;
}

.jp-diamond-button:hover:enabled {
  background: var(--jp-layout-color2) !important;
}

.jp-diamond-progress {
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-progress > .jp-diamond-thinbar {
  height: 4px;
  margin-bottom: 4px;
}

.jp-diamond-details .jp-diamond-banner {
  padding: 4px 10px;
  border-inline-start: 3px solid var(--jp-border-color1);
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.jp-diamond-banner.jp-mod-error {
  border-color: var(--jp-error-color1);
}

.jp-diamond-banner.jp-mod-warning {
  border-color: var(--jp-warn-color1);
}

.jp-diamond-tabs {
  display: flex;
  flex: none;
  gap: 16px;
  padding: 0 16px;
  border-bottom: 1px solid var(--jp-border-color2);
  overflow-x: auto;
}

.jp-diamond-details .jp-diamond-tabs > button {
  flex: none;
  margin-bottom: -1px;
  padding: 4px 0 5px;
  border-bottom: 2px solid transparent;
  color: var(--jp-diamond-quiet);
}

.jp-diamond-details .jp-diamond-tabs > button:hover {
  color: var(--jp-ui-font-color1);
}

.jp-diamond-details .jp-diamond-tabs > button[aria-selected='true'] {
  border-color: var(--jp-brand-color1);
  color: var(--jp-ui-font-color1);
}

.jp-diamond-tabbody {
  flex: 1;
  min-height: 0;
  overflow: auto;
  padding: 12px 16px;
}

.jp-diamond-tabbody[data-tab='log'] {
  padding: 0;
  overflow: hidden;
}

.jp-diamond-details pre {
  margin: 0;
  color: var(--jp-content-font-color1);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  line-height: 1.4;
  tab-size: 8;
}

.jp-diamond-logtab {
  display: flex;
  flex-direction: column;
  height: 100%;
}

.jp-diamond-logline {
  flex: none;
  padding: 6px 16px 4px;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  gap: 4px 14px;
}

.jp-diamond-details .jp-diamond-log {
  flex: 1;
  min-height: 0;
  overflow: auto;
  padding: 2px 16px 12px;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.jp-diamond-details .jp-diamond-source,
.jp-diamond-details .jp-diamond-evidence {
  padding: 8px 10px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  background: var(--jp-cell-editor-background);
  overflow: auto;
}

.jp-diamond-details .jp-diamond-evidence {
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.jp-diamond-why,
.jp-diamond-cell,
.jp-diamond-attempts {
  display: flex;
  flex-direction: column;
  gap: 10px;
}

.jp-diamond-attempts {
  gap: 20px;
}

.jp-diamond-lead {
  font-weight: 500;
}

.jp-diamond-refusals li {
  display: grid;
  grid-template-columns: 150px minmax(0, 1fr);
  gap: 12px;
  padding: 1px 0;
}

.jp-diamond-rule {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-table {
  width: 100%;
  font: inherit;
  border-collapse: collapse;
}

.jp-diamond-table th,
.jp-diamond-table td {
  padding: 3px 14px 3px 0;
  border-bottom: 1px solid var(--jp-border-color3);
  font-weight: 400;
  text-align: start;
  vertical-align: top;
}

.jp-diamond-table th {
  border-color: var(--jp-border-color1);
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  vertical-align: bottom;
}

.jp-diamond-table .jp-mod-number {
  text-align: end;
}

.jp-diamond-table td.jp-mod-number {
  white-space: nowrap;
}

.jp-diamond-table tr.jp-mod-chosen > td {
  background: var(--jp-layout-color2);
}

.jp-diamond-details .jp-diamond-fold {
  display: flex;
  align-items: center;
  gap: 5px;
  min-width: 110px;
  overflow-wrap: anywhere;
}

.jp-diamond-said {
  display: flex;
  align-items: baseline;
  gap: 6px;
}

.jp-diamond-said > .jp-diamond-mark {
  position: relative;
  top: 1px;
}

.jp-diamond-verdicts li {
  display: grid;
  grid-template-columns: 150px minmax(60px, 0.3fr) minmax(60px, 0.3fr) minmax(0, 1fr);
  gap: 12px;
  padding: 2px 0 2px 15px;
}

.jp-diamond-verdicts li.jp-mod-size {
  grid-template-columns: 150px minmax(0, 1fr) minmax(60px, 0.3fr);
}

.jp-diamond-data {
  overflow-wrap: anywhere;
}

.jp-diamond-attempts h3 {
  display: flex;
  align-items: center;
  gap: 6px;
  margin: 0 0 6px;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.jp-diamond-attempts h3 > span {
  font-weight: 400;
}

.jp-diamond-facts {
  display: grid;
  grid-template-columns: max-content minmax(0, 1fr);
  gap: 2px 16px;
  margin: 6px 0;
}

.jp-diamond-facts dt {
  color: var(--jp-diamond-quiet);
  font-weight: 400;
}

.jp-diamond-facts dd {
  margin: 0;
  overflow-wrap: anywhere;
}

/* a card in a notebook whose kernel is gone: as wide as the live one */

.jp-diamond-keptcard {
  box-sizing: border-box;
  max-width: 1000px;
  padding: 6px 10px;
  border: 1px solid var(--jp-border-color2);
  border-inline-start: 3px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
  line-height: 1.5;
}

.jp-diamond-keptcard > * {
  margin: 0;
}

.jp-diamond-keptcard[data-tone='accent'] {
  border-inline-start-color: var(--jp-brand-color1);
}

.jp-diamond-keptcard[data-tone='success'] {
  border-inline-start-color: var(--jp-success-color1);
}

.jp-diamond-keptcard[data-tone='error'] {
  border-inline-start-color: var(--jp-error-color1);
}

.jp-diamond-keptcard[data-tone='warning'] {
  border-inline-start-color: var(--jp-warn-color1);
}

.jp-diamond-keptcard strong.jp-diamond-name {
  font-weight: 600;
}

.jp-diamond-keptcard .jp-diamond-thinbar {
  margin-top: 4px;
}

.jp-diamond-keptcard .jp-diamond-button {
  padding: 0 8px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: none;
  color: inherit;
  font: inherit;
  font-size: var(--jp-diamond-small);
  cursor: pointer;
}

.jp-diamond-keptcard .jp-diamond-banner {
  margin: 2px 0;
}

.jp-diamond-keptoutputs {
  max-width: 1000px;
  padding-top: 4px;
}

.jp-diamond-keptoutputs > p {
  margin: 4px 0;
}

.jp-diamond-keptcard code {
  padding: 0;
  background: none;
  font-size: inherit;
  font-family: var(--jp-code-font-family);
}

/* A plan that waits for a word: in the chat and in the sidebar. */

.jp-diamond-proposal {
  box-sizing: border-box;
  max-width: 640px;
  margin: 4px 0;
  padding: 8px 12px;
  border: 1px solid var(--jp-border-color1);
  border-inline-start: 3px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.45;
  overflow-wrap: anywhere;
}

.jp-diamond-proposal[data-standing='waiting'] {
  border-inline-start-color: var(--jp-brand-color1);
}

.jp-diamond-proposal[data-standing='done'],
.jp-diamond-proposal[data-standing='approved'] {
  border-inline-start-color: var(--jp-success-color1);
}

.jp-diamond-proposal[data-standing='void'] {
  border-inline-start-color: var(--jp-warn-color1);
}

.jp-diamond-proposal-title {
  font-weight: 600;
}

.jp-diamond-proposal-facts {
  font-variant-numeric: tabular-nums;
}

.jp-diamond-proposal p,
.jp-diamond-proposal ul {
  margin: 4px 0;
}

.jp-diamond-proposal ul {
  padding-inline-start: 18px;
  list-style: disc;
}

.jp-diamond-proposal-why,
.jp-diamond-proposal-notes,
.jp-diamond-proposal-standing {
  color: var(--jp-ui-font-color2);
}

.jp-diamond-proposal-fold > summary {
  color: var(--jp-ui-font-color2);
  cursor: pointer;
}

.jp-diamond-proposal-fold > pre {
  max-height: 240px;
  margin: 4px 0;
  padding: 6px 8px;
  overflow: auto;
  background: var(--jp-layout-color2);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  white-space: pre;
}

.jp-diamond-proposal-answer,
.jp-diamond-proposal-wish,
.jp-diamond-proposal-standing {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 6px;
  margin-top: 6px;
}

.jp-diamond-proposal-wish > input {
  flex: 1 1 180px;
  min-width: 0;
  font: inherit;
}

.jp-diamond-proposal .jp-diamond-button {
  padding: 2px 12px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}

.jp-diamond-proposal .jp-diamond-button.jp-mod-primary {
  border-color: var(--jp-brand-color1);
  background: var(--jp-brand-color1);
  color: var(--jp-ui-inverse-font-color1);
}

.jp-diamond-proposal .jp-diamond-button:disabled {
  opacity: 0.5;
  cursor: default;
}

.jp-diamond-proposal .jp-diamond-button:focus-visible,
.jp-diamond-proposal summary:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.jp-diamond-proposal-problem {
  color: var(--jp-error-color1);
}

.jp-diamond-proposal-standing .jp-diamond-button {
  padding: 0 8px;
}

/* what waits for the user's word, and the switch */

.jp-diamond-needs {
  border-bottom: 1px solid var(--jp-border-color2);
}

.jp-diamond-needs > ul {
  padding: 0 var(--jp-diamond-gap) 4px;
}

.jp-diamond-needs .jp-diamond-proposal {
  max-width: none;
  overflow-wrap: anywhere;
}

.jp-diamond-transfer {
  display: grid;
  grid-template-columns: 16px minmax(0, 1fr);
  align-items: start;
  padding: 3px var(--jp-diamond-gap);
}

.jp-diamond-transfer > .jp-diamond-mark {
  margin-top: 3px;
}

.jp-diamond-transfer .jp-diamond-fine {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-transfer .jp-diamond-far .jp-diamond-fine {
  white-space: normal;
}

.jp-diamond-far {
  display: flex;
  flex-direction: column;
  grid-column: 2;
  gap: 2px;
  min-width: 0;
  margin: 2px 0;
}

.jp-diamond-needs .jp-diamond-open {
  align-self: flex-start;
  text-decoration: none;
}

/* always in reach, however many tasks there are */
.jp-diamond-agents {
  position: sticky;
  bottom: 0;
  z-index: 1;
  max-height: 40%;
  overflow: hidden auto;
  border-top: 1px solid var(--jp-border-color2);
  padding: 4px var(--jp-diamond-gap) 8px;
  background: var(--jp-layout-color1);
}

.jp-diamond-agents .jp-diamond-fine {
  display: block;
}

.jp-diamond-budget {
  display: flex;
  align-items: baseline;
  justify-content: space-between;
  gap: 8px;
  padding: 2px 0;
  overflow-wrap: anywhere;
}

.jp-diamond-sidebar .jp-diamond-switch {
  display: grid;
  grid-template-columns: 26px minmax(0, 1fr);
  align-items: start;
  column-gap: 8px;
  width: 100%;
  padding: 4px 0;
}

.jp-diamond-switchmark {
  position: relative;
  box-sizing: border-box;
  width: 26px;
  height: 14px;
  margin-top: 2px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 7px;
  background: var(--jp-layout-color2);
}

.jp-diamond-switchmark::after {
  position: absolute;
  top: 1px;
  left: 1px;
  width: 10px;
  height: 10px;
  border-radius: 50%;
  background: var(--jp-ui-font-color2);
  content: '';
}

.jp-diamond-switch[aria-checked='true'] .jp-diamond-switchmark {
  border-color: var(--jp-brand-color1);
  background: var(--jp-brand-color1);
}

.jp-diamond-switch[aria-checked='true'] .jp-diamond-switchmark::after {
  left: 13px;
  background: var(--jp-ui-inverse-font-color1);
}
`,""]),d.d(a,{},{A:e})},9229(o,a,d){var i=d(1601),n=d.n(i),r=d(6314),e=(d.n(r))()(n());e.push([o.id,`/* The launch sheet and the idle finder. */

.jp-diamond-launch,
.jp-diamond-idle {
  container-type: inline-size;
  display: flex;
  flex-direction: column;
  overflow: hidden;
}

.jp-diamond-launchbody {
  display: grid;
  flex: 1;
  grid-template-columns: minmax(0, 1fr) minmax(260px, 34%);
  min-height: 0;
}

.jp-diamond-launchform {
  overflow: hidden auto;
  padding: 8px var(--jp-diamond-gap) 16px;
}

.jp-diamond-where {
  overflow: hidden auto;
  padding: 10px var(--jp-diamond-gap) 16px;
  border-inline-start: 1px solid var(--jp-border-color2);
}

/* one under the other, both in sight, where there is no room beside each other */

@container (max-width: 659px) {
  .jp-diamond-launchbody {
    grid-template-rows: minmax(0, 1fr) minmax(120px, 38%);
    grid-template-columns: minmax(0, 1fr);
  }

  .jp-diamond-where {
    border-top: 1px solid var(--jp-border-color2);
    border-inline-start: 0;
  }
}

.jp-diamond-screen fieldset {
  min-width: 0;
  margin: 0 0 10px;
  padding: 0;
  border: 0;
}

.jp-diamond-screen legend,
.jp-diamond-where h3 {
  margin: 0 0 4px;
  padding: 0;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.jp-diamond-fields {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(150px, 1fr));
  align-items: start;
  gap: 6px 12px;
}

.jp-diamond-field label {
  display: block;
  overflow: hidden;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-screen :is(.jp-diamond-field, .jp-diamond-filepath) :is(input[type='text'], select),
.jp-diamond-screen textarea.jp-diamond-source {
  box-sizing: border-box;
  width: 100%;
  max-width: none;
  height: 24px;
  padding: 0 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-screen :is(input, textarea)::placeholder {
  color: var(--jp-ui-font-color2);
  opacity: 1;
}

.jp-diamond-screen .jp-diamond-field.jp-mod-wrong input {
  border-color: var(--jp-error-color1);
}

.jp-diamond-screen textarea:focus-visible,
.jp-diamond-screen pre:focus-visible,
.jp-diamond-screen code:focus-visible,
.jp-diamond-screen summary:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.jp-diamond-screen .jp-diamond-fieldproblem {
  padding-top: 2px;
  border-inline-start: 2px solid var(--jp-error-color1);
  padding-inline-start: 6px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-diamond-small);
  overflow-wrap: anywhere;
}

.jp-diamond-screen .jp-diamond-source {
  margin: 6px 0 0;
  font-family: var(--jp-code-font-family) !important;
  font-size: var(--jp-code-font-size) !important;
}

.jp-diamond-screen textarea.jp-diamond-source {
  height: auto;
  padding: 4px 6px;
  resize: vertical;
}

.jp-diamond-screen pre.jp-diamond-source {
  overflow: auto;
  max-height: 132px;
  padding: 4px 6px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color2);
}

.jp-diamond-from {
  margin-top: 6px !important;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-filepath {
  display: flex;
  gap: 6px;
  margin-top: 6px;
}

.jp-diamond-draft .jp-diamond-filepath {
  margin-top: 0;
}

.jp-diamond-drafted {
  margin-top: 6px;
  padding: 6px 8px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-difftable,
.jp-diamond-idletable {
  width: 100%;
  margin: 6px 0;
  border-collapse: collapse;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-difftable :is(th, td),
.jp-diamond-idletable :is(th, td) {
  padding: 2px 8px 2px 0;
  font-weight: 400;
  overflow-wrap: anywhere;
  text-align: start;
  vertical-align: top;
}

.jp-diamond-difftable thead th,
.jp-diamond-idletable thead th {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-difftable ins {
  font-weight: 600;
  text-decoration: none;
}

.jp-diamond-draftacts {
  display: flex;
  align-items: center;
  gap: 12px;
  margin-top: 6px;
}

.jp-diamond-more > summary {
  cursor: pointer;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-more > .jp-diamond-fields {
  margin-top: 6px;
}

.jp-diamond-more ul {
  margin: 4px 0;
  padding-inline-start: 18px;
  font-size: var(--jp-diamond-small);
  overflow-wrap: anywhere;
}

.jp-diamond-where .jp-diamond-problem,
.jp-diamond-where .jp-diamond-lead {
  padding: 0 0 6px !important;
  overflow-wrap: anywhere;
}

.jp-diamond-where.jp-mod-stale .jp-diamond-places {
  border-inline-start: 2px dotted var(--jp-border-color1);
}

.jp-diamond-screen ol.jp-diamond-places {
  margin: 0;
  padding: 0;
  border-inline-start: 2px solid transparent;
  list-style: none;
}

.jp-diamond-places > li {
  margin-bottom: 6px;
  padding: 4px 8px 6px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  font-size: var(--jp-diamond-small);
  overflow-wrap: anywhere;
}

.jp-diamond-places > li.jp-mod-chosen {
  border-color: var(--jp-brand-color1);
  box-shadow: inset 2px 0 0 var(--jp-brand-color1);
}

.jp-diamond-places > li.jp-mod-simulated {
  border-style: dashed;
}

.jp-diamond-placehead {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  gap: 2px 8px;
  font-size: var(--jp-ui-font-size1);
}

.jp-diamond-placehead b {
  font-weight: 600;
}

.jp-diamond-chosen {
  font-size: var(--jp-diamond-small);
}

.jp-diamond-placefacts {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 14px;
}

.jp-diamond-screen .jp-diamond-fine {
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
}

/* the small size is a share of what is around it: once is enough */

:is(.jp-diamond-places, .jp-diamond-difftable, .jp-diamond-idletable, .jp-diamond-drafted, .jp-diamond-from, .jp-diamond-fieldsaid)
  :is(.jp-diamond-fine, .jp-diamond-link, .jp-diamond-button, .jp-diamond-difftable).jp-diamond-fine.jp-diamond-fine,
.jp-diamond-launch .jp-diamond-places .jp-diamond-link,
.jp-diamond-launch .jp-diamond-from .jp-diamond-link,
.jp-diamond-launch .jp-diamond-fieldsaid .jp-diamond-link,
.jp-diamond-launch .jp-diamond-drafted :is(.jp-diamond-link, .jp-diamond-button, table),
.jp-diamond-idle .jp-diamond-idletable button {
  font-size: 1em;
}

.jp-diamond-launchbar {
  flex: none;
  padding: 8px var(--jp-diamond-gap);
  border-top: 1px solid var(--jp-border-color2);
}

.jp-diamond-launchbar > p {
  margin-bottom: 6px !important;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-launchline {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 14px;
}

.jp-diamond-launchline code {
  flex: 1 1 240px;
}

.jp-diamond-charge {
  font-size: var(--jp-diamond-small);
  white-space: nowrap;
}

.jp-diamond-screen .jp-diamond-primary {
  padding: 4px 18px;
  border-radius: var(--jp-border-radius);
  background: var(--jp-brand-color0);
  color: var(--jp-ui-inverse-font-color0);
  font-weight: 600;
}

.jp-diamond-screen .jp-diamond-primary:disabled {
  background: var(--jp-layout-color3);
  color: var(--jp-ui-font-color2);
}

.jp-diamond-screen .jp-diamond-primary:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 2px;
}

/* idle finder */

.jp-diamond-idle {
  overflow: hidden auto;
}

.jp-diamond-idleform {
  padding: 10px var(--jp-diamond-gap) 4px;
}

.jp-diamond-idlebody {
  padding: 4px var(--jp-diamond-gap) 16px;
}

.jp-diamond-idlebody .jp-diamond-empty,
.jp-diamond-idlebody .jp-diamond-lead {
  padding: 4px 0;
}

.jp-diamond-idletable :is(td:nth-child(2), td:nth-child(4), td:nth-child(5), thead th:nth-child(2), thead th:nth-child(4), thead th:nth-child(5)) {
  padding-inline-end: 16px;
  text-align: end;
}

.jp-diamond-idletable tbody tr:hover {
  background: var(--jp-layout-color2);
}

.jp-diamond-idletable .jp-mod-simulated th {
  border-inline-start: 3px dashed var(--jp-border-color1);
  padding-inline-start: 5px;
}

.jp-diamond-idletable .jp-diamond-exact td {
  color: var(--jp-diamond-quiet);
  padding-bottom: 6px;
  text-align: start;
}

@container (max-width: 619px) {
  .jp-diamond-idletable tr:not(.jp-diamond-exact) > :is(:nth-child(4), :nth-child(6), :nth-child(7)) {
    display: none;
  }
}

.jp-diamond-unseen {
  position: absolute;
  overflow: hidden;
  width: 1px;
  height: 1px;
  clip-path: inset(50%);
  white-space: nowrap;
}
`,""]),d.d(a,{},{A:e})},877(o,a,d){var i=d(1601),n=d.n(i),r=d(6314),e=(d.n(r))()(n());e.push([o.id,`/* Main-area screens: the wall and the table of tasks. */

.jp-diamond-screen {
  --jp-diamond-gap: 12px;
  --jp-diamond-small: var(--jp-ui-font-size0);
  --jp-diamond-quiet: var(--jp-ui-font-color2);

  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font-size: var(--jp-ui-font-size1);
  font-variant-numeric: tabular-nums;
  line-height: 1.35;
}

.jp-diamond-screen:focus {
  outline: none;
}

.jp-diamond-screen p {
  margin: 0;
}

.jp-diamond-screen code {
  font-family: var(--jp-code-font-family);
  font-size: 0.92em;
  overflow-wrap: anywhere;
}

.jp-diamond-screen button {
  margin: 0;
  padding: 0;
  border: 0;
  background: none;
  color: inherit;
  font: inherit;
  font-variant-numeric: inherit;
  text-align: start;
  cursor: pointer;
}

.jp-diamond-screen button:disabled {
  color: var(--jp-ui-font-color3);
  cursor: default;
}

.jp-diamond-screen button:focus-visible,
.jp-diamond-screen select:focus-visible,
.jp-diamond-screen input:focus-visible,
.jp-diamond-board:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.jp-diamond-screen .jp-diamond-button {
  padding: 2px 10px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  font-size: var(--jp-diamond-small);
  line-height: 18px;
}

.jp-diamond-screen .jp-diamond-empty {
  padding: 16px var(--jp-diamond-gap);
  color: var(--jp-diamond-quiet);
}

.jp-diamond-screen .jp-diamond-empty > p + p {
  margin-top: 6px;
}

.jp-diamond-screen .jp-diamond-problem {
  padding: 2px var(--jp-diamond-gap) 6px !important;
}

.jp-diamond-tools,
.jp-diamond-bulk {
  display: flex;
  flex: none;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 12px;
  padding: 6px var(--jp-diamond-gap);
}

.jp-diamond-screen .jp-diamond-filter,
.jp-diamond-screen select {
  box-sizing: border-box;
  height: 24px;
  padding: 0 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-screen .jp-diamond-filter {
  flex: 0 1 260px;
  min-width: 140px;
}

.jp-diamond-screen select {
  max-width: 180px;
}

.jp-diamond-choice {
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  white-space: nowrap;
}

/* wall */

.jp-diamond-wall {
  overflow: hidden auto;
}

.jp-diamond-strip {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 4px 28px;
  padding: 12px var(--jp-diamond-gap) 6px;
  color: var(--jp-diamond-quiet);
}

.jp-diamond-stat b {
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size3);
  font-weight: 600;
}

.jp-diamond-stat span,
.jp-diamond-lacking {
  font-size: var(--jp-diamond-small);
}

.jp-diamond-cards {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 470px), 1fr));
  align-items: start;
  gap: 10px;
  padding: 4px var(--jp-diamond-gap) 16px;
}

.jp-diamond-card {
  position: relative;
  min-width: 0;
  padding: 6px 10px 8px;
  border: 1px solid var(--jp-border-color2);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  container-type: inline-size;
}

.jp-diamond-card.jp-mod-simulated {
  padding-inline-start: 14px;
}

.jp-diamond-card.jp-mod-simulated::before {
  position: absolute;
  inset: 0 auto 0 0;
  width: 6px;
  background: repeating-linear-gradient(
    135deg,
    var(--jp-border-color1) 0 3px,
    transparent 3px 6px
  );
  content: '';
}

.jp-diamond-cardhead {
  display: flex;
  align-items: baseline;
  gap: 8px;
  padding-bottom: 2px;
}

.jp-diamond-cardhead h3 {
  margin: 0;
  font-size: var(--jp-ui-font-size2);
  font-weight: 600;
}

.jp-diamond-badge {
  overflow: hidden;
  flex: 1;
  color: var(--jp-diamond-quiet);
  font-size: var(--jp-diamond-small);
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-cardhead .jp-diamond-health {
  align-self: center;
}

.jp-diamond-card .jp-diamond-problem {
  padding: 2px 0 4px !important;
}

.jp-diamond-card .jp-diamond-empty {
  padding: 2px 0;
}

.jp-diamond-reserved {
  margin: 2px 0 4px !important;
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-warn-color1);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-walltable {
  width: 100%;
  border-collapse: collapse;
  font-size: var(--jp-diamond-small);
  table-layout: fixed;
}

.jp-diamond-walltable th,
.jp-diamond-walltable td {
  overflow: hidden;
  padding: 2px 3px;
  font-weight: 400;
  text-align: end;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-walltable th:first-child,
.jp-diamond-walltable td:first-child {
  padding-inline-start: 0;
  text-align: start;
}

.jp-diamond-walltable thead th {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-walltable [data-column='partition'] {
  width: auto;
}

.jp-diamond-walltable [data-column='busy'] {
  overflow: visible;
  width: 24px;
  text-align: start;
}

.jp-diamond-walltable [data-column='free'] {
  width: 60px;
}

.jp-diamond-walltable [data-column='queue'] {
  width: 36px;
}

.jp-diamond-walltable [data-column='yours'] {
  width: 36px;
}

.jp-diamond-walltable [data-column='wait'] {
  width: 112px;
}

.jp-diamond-walltable [data-column='last day'] {
  width: 52px;
}

.jp-diamond-walltable [data-column='GPU'] {
  width: 74px;
}

.jp-diamond-walltable [data-column='limit'] {
  width: 44px;
}

/* where there is no room for nine columns, kind and limit are told by the row's exact figures */

@container (max-width: 519px) {
  .jp-diamond-walltable :is(th, td):nth-child(8) {
    display: none;
  }
}

@container (max-width: 419px) {
  .jp-diamond-walltable :is(th, td):nth-child(9),
  .jp-diamond-walltable :is(th, td):nth-child(7) {
    display: none;
  }
}

.jp-diamond-wallrow {
  cursor: pointer;
}

.jp-diamond-wallrow:hover {
  background: var(--jp-layout-color2);
}

.jp-diamond-wallrow .jp-diamond-rowname {
  overflow: hidden;
  max-width: 100%;
  text-overflow: ellipsis;
  vertical-align: bottom;
}

.jp-diamond-wallrow.jp-mod-closed,
.jp-diamond-card.jp-mod-stale .jp-diamond-walltable {
  color: var(--jp-ui-font-color2);
}

.jp-diamond-walltable .jp-diamond-free,
.jp-diamond-walltable .jp-diamond-wait {
  color: var(--jp-ui-font-color1);
}

.jp-diamond-walltable .jp-mod-closed .jp-diamond-free {
  color: var(--jp-ui-font-color2);
}

.jp-diamond-walltable .jp-diamond-kind {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-walltable .jp-diamond-exact td {
  padding: 0 0 6px;
  color: var(--jp-diamond-quiet);
  overflow-wrap: anywhere;
  text-align: start;
  white-space: normal;
}

.jp-diamond-spark {
  display: inline-block;
  width: 100%;
  height: 14px;
  vertical-align: bottom;
}

.jp-diamond-spark.jp-mod-unknown {
  box-sizing: border-box;
  height: 12px;
  border-bottom: 1px dashed var(--jp-border-color1);
}

.jp-diamond-sparkfill {
  fill: var(--jp-layout-color3);
}

.jp-diamond-sparkline {
  fill: none;
  stroke: var(--jp-ui-font-color2);
  stroke-width: 1;
}

/* tasks */

.jp-diamond-boardscreen {
  background: var(--jp-border-color2);
}

.jp-diamond-boardview {
  container-type: inline-size;
  display: flex;
  flex-direction: column;
  min-width: 320px;
  min-height: 160px;
  overflow: hidden;
}

.jp-diamond-bulk {
  padding-top: 0;
  font-size: var(--jp-diamond-small);
}

.jp-diamond-bulk [data-part='chosen'] {
  min-width: 76px;
}

.jp-diamond-board {
  position: relative;
  flex: 1;
  min-height: 0;
  overflow: auto;
  border-top: 1px solid var(--jp-border-color2);
  font-size: var(--jp-diamond-small);
}

.jp-diamond-boardrow {
  display: grid;
  grid-template-columns: 22px 150px minmax(110px, 1.3fr) minmax(90px, 1.1fr) 92px 112px minmax(70px, 0.9fr) minmax(90px, 1.7fr);
  align-items: center;
  column-gap: 8px;
  box-sizing: border-box;
  height: 26px;
  padding: 0 var(--jp-diamond-gap);
}

/* where the details stand beside, they say what these columns would */

@container (max-width: 859px) {
  .jp-diamond-boardrow {
    grid-template-columns: 22px 130px minmax(90px, 1.3fr) minmax(80px, 1.1fr) 84px 104px;
  }

  .jp-diamond-boardrow > :nth-child(n + 7) {
    display: none;
  }
}

@container (max-width: 519px) {
  .jp-diamond-boardrow {
    grid-template-columns: 22px 100px minmax(70px, 1fr) 84px 104px;
  }

  .jp-diamond-boardrow > :nth-child(4) {
    display: none;
  }
}

.jp-diamond-boardhead {
  position: sticky;
  top: 0;
  z-index: 1;
  border-bottom: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color1);
  color: var(--jp-diamond-quiet);
}

.jp-diamond-boardhead > .jp-diamond-boardrow {
  height: 25px;
}

.jp-diamond-boardhead button:hover {
  color: var(--jp-ui-font-color1);
}

.jp-diamond-boardbody {
  position: relative;
}

.jp-diamond-boardbody > .jp-diamond-boardrow {
  contain: strict;
  position: absolute;
  top: 0;
  right: 0;
  left: 0;
  cursor: pointer;
}

.jp-diamond-boardbody > .jp-diamond-boardrow:hover {
  background: var(--jp-layout-color2);
}

.jp-diamond-boardbody > .jp-diamond-boardrow.jp-mod-chosen {
  background: var(--jp-layout-color2);
  box-shadow: inset 2px 0 0 var(--jp-brand-color1);
}

/* the line that the keyboard stands on shows the focus */

.jp-diamond-board[aria-activedescendant]:focus-visible {
  outline: none;
}

.jp-diamond-board:focus .jp-diamond-boardrow.jp-mod-active {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.jp-diamond-boardrow > * {
  overflow: hidden;
  min-width: 0;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-diamond-check input {
  margin: 0;
  vertical-align: middle;
}

.jp-diamond-statecell {
  display: flex;
  align-items: center;
  gap: 6px;
}

.jp-diamond-statecell > span {
  overflow: hidden;
  text-overflow: ellipsis;
}

.jp-diamond-boardrow .jp-diamond-timecell,
.jp-diamond-boardhead [role='columnheader']:nth-child(n + 5):nth-child(-n + 6) {
  text-align: end;
}

.jp-diamond-timecell > .jp-diamond-thinbar {
  height: 2px;
}

.jp-diamond-quietcell,
.jp-diamond-waitcell {
  color: var(--jp-diamond-quiet);
}

.jp-diamond-waitcell {
  grid-column: 3 / -1;
}

.jp-diamond-boardrow.jp-mod-member .jp-diamond-name {
  padding-inline-start: 18px;
  font-weight: 400;
}

.jp-diamond-groupname {
  display: flex;
  align-items: center;
  gap: 4px;
}

.jp-diamond-pane {
  min-width: 260px;
  min-height: 160px;
}

.jp-diamond-panebar {
  display: flex;
  align-items: center;
  padding: 0 var(--jp-diamond-gap);
  border-bottom: 1px solid var(--jp-border-color2);
}

.jp-diamond-question ul {
  margin: 8px 0;
  padding-inline-start: 18px;
}

.jp-diamond-question li {
  overflow-wrap: anywhere;
}
`,""]),d.d(a,{},{A:e})},6314(o){o.exports=function(o){var a=[];return a.toString=function(){return this.map(function(a){var d="",i=void 0!==a[5];return a[4]&&(d+="@supports (".concat(a[4],") {")),a[2]&&(d+="@media ".concat(a[2]," {")),i&&(d+="@layer".concat(a[5].length>0?" ".concat(a[5]):""," {")),d+=o(a),i&&(d+="}"),a[2]&&(d+="}"),a[4]&&(d+="}"),d}).join("")},a.i=function(o,d,i,n,r){"string"==typeof o&&(o=[[null,o,void 0]]);var e={};if(i)for(var p=0;p<this.length;p++){var t=this[p][0];null!=t&&(e[t]=!0)}for(var l=0;l<o.length;l++){var m=[].concat(o[l]);i&&e[m[0]]||(void 0!==r&&(void 0===m[5]||(m[1]="@layer".concat(m[5].length>0?" ".concat(m[5]):""," {").concat(m[1],"}")),m[5]=r),d&&(m[2]&&(m[1]="@media ".concat(m[2]," {").concat(m[1],"}")),m[2]=d),n&&(m[4]?(m[1]="@supports (".concat(m[4],") {").concat(m[1],"}"),m[4]=n):m[4]="".concat(n)),a.push(m))}},a}},1601(o){o.exports=function(o){return o[1]}},5072(o){var a=[];function d(o){for(var d=-1,i=0;i<a.length;i++)if(a[i].identifier===o){d=i;break}return d}function i(o,i){for(var n={},r=[],e=0;e<o.length;e++){var p=o[e],t=i.base?p[0]+i.base:p[0],l=n[t]||0,m="".concat(t," ").concat(l);n[t]=l+1;var s=d(m),j={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==s)a[s].references++,a[s].updater(j);else{var c=function(o,a){var d=a.domAPI(a);return d.update(o),function(a){a?(a.css!==o.css||a.media!==o.media||a.sourceMap!==o.sourceMap||a.supports!==o.supports||a.layer!==o.layer)&&d.update(o=a):d.remove()}}(j,i);i.byIndex=e,a.splice(e,0,{identifier:m,updater:c,references:1})}r.push(m)}return r}o.exports=function(o,n){var r=i(o=o||[],n=n||{});return function(o){o=o||[];for(var e=0;e<r.length;e++){var p=d(r[e]);a[p].references--}for(var t=i(o,n),l=0;l<r.length;l++){var m=d(r[l]);0===a[m].references&&(a[m].updater(),a.splice(m,1))}r=t}}},7659(o){var a={};o.exports=function(o,d){var i=function(o){if(void 0===a[o]){var d=document.querySelector(o);if(window.HTMLIFrameElement&&d instanceof window.HTMLIFrameElement)try{d=d.contentDocument.head}catch(o){d=null}a[o]=d}return a[o]}(o);if(!i)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");i.appendChild(d)}},540(o){o.exports=function(o){var a=document.createElement("style");return o.setAttributes(a,o.attributes),o.insert(a,o.options),a}},5056(o,a,d){o.exports=function(o){var a=d.nc;a&&o.setAttribute("nonce",a)}},7825(o){o.exports=function(o){if("u"<typeof document)return{update:function(){},remove:function(){}};var a=o.insertStyleElement(o);return{update:function(d){var i,n,r;i="",d.supports&&(i+="@supports (".concat(d.supports,") {")),d.media&&(i+="@media ".concat(d.media," {")),(n=void 0!==d.layer)&&(i+="@layer".concat(d.layer.length>0?" ".concat(d.layer):""," {")),i+=d.css,n&&(i+="}"),d.media&&(i+="}"),d.supports&&(i+="}"),(r=d.sourceMap)&&"u">typeof btoa&&(i+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(r))))," */")),o.styleTagTransform(i,a,o.options)},remove:function(){var o;null===(o=a).parentNode||o.parentNode.removeChild(o)}}}},1113(o){o.exports=function(o,a){if(a.styleSheet)a.styleSheet.cssText=o;else{for(;a.firstChild;)a.removeChild(a.firstChild);a.appendChild(document.createTextNode(o))}}},3194(o,a,d){var i=d(5072),n=d.n(i),r=d(7825),e=d.n(r),p=d(7659),t=d.n(p),l=d(5056),m=d.n(l),s=d(540),j=d.n(s),c=d(1113),u=d.n(c),x=d(8475),b={};b.styleTagTransform=u(),b.setAttributes=m(),b.insert=t().bind(null,"head"),b.domAPI=e(),b.insertStyleElement=j(),n()(x.A,b),x.A&&x.A.locals&&x.A.locals;var f=d(877),g={};g.styleTagTransform=u(),g.setAttributes=m(),g.insert=t().bind(null,"head"),g.domAPI=e(),g.insertStyleElement=j(),n()(f.A,g),f.A&&f.A.locals&&f.A.locals;var h=d(9229),v={};v.styleTagTransform=u(),v.setAttributes=m(),v.insert=t().bind(null,"head"),v.domAPI=e(),v.insertStyleElement=j(),n()(h.A,v),h.A&&h.A.locals&&h.A.locals}}]);