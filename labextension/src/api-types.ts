// Generated from the pydantic models in jupyter_diamond/model. Do not edit:
// run `python -m labextension.scripts.api_types` from the repository's root.

/** The attempts of one account of a site in one unit. Sums are of those whose charge is known; None: of none. */
export interface AccountCharges {
  site: string;
  account: string | null;
  unit: string;
  attempts: number;
  live: number;
  unknown: number;
  predicted: number | null;
  reserved: number | null;
  actual: number | null;
  balance: number | null;
  balance_unit: string;
  balance_read_at: string | null;
}

/** Whether agents may act at all. Off: they may look, nothing else. */
export interface AgentSwitch {
  on: boolean;
  by: string | null;
  at: string | null;
}

/** How much a standing budget lets pass. None: not limited by it; no amounts: nothing that costs. */
export interface Allowance {
  amounts: string[];
  jobs: number | null;
  transferred_bytes: number | null;
  model_tokens: number | null;
}

/** Where an attempt stands in a job array: the array's token, which names its job and its folder, and its index. */
export interface ArrayPlace {
  token: string;
  at: number;
}

/** The user in one account: which QOS they may name there, and limits of the user's and of the account's own. */
export interface Association {
  account: string;
  partition: string | null;
  qos: string[];
  default_qos: string | null;
  caps: Cap[];
}

/** One submission of a task to one site. */
export interface Attempt {
  n: number;
  token: string;
  array: ArrayPlace | null;
  step: 'first' | 'retry' | 'resize' | 'migrate' | 'segment' | 'replan';
  why: string;
  segment: number;
  withdrawal: Withdrawal | null;
  mismatch: Mismatch | null;
  site: string;
  partition: string | null;
  account: string | null;
  size: Size;
  folder: string | null;
  submissions: number;
  may_come: boolean;
  native: NativeJob | null;
  state: State;
  raw_state: string;
  reason: string;
  reason_class: ReasonClass | null;
  created_at: string;
  submitted_at: string | null;
  started_at: string | null;
  requeued_at: string | null;
  cell_started_at: string | null;
  ended_at: string | null;
  expected_start_at: string | null;
  nodes: string;
  exit_code: number | null;
  signal: number | null;
  ran_s: number | null;
  max_rss_bytes: number | null;
  result_ready: boolean;
  staged: Staged[];
  staged_out: string[];
  job_state: State | null;
  charge: Charge | null;
  failure: 'spec_invalid' | 'auth' | 'policy' | 'credit' | 'capacity' | 'image' | 'launch' | 'app_args' | 'oom' | 'timeout' | 'node' | 'preempt' | 'network_fabric' | 'data' | 'endpoint' | 'lost' | 'user_cancel' | null;
  checkpoint: Checkpoint | null;
  cause: string;
  next: string;
  evidence: string[];
  state_since: string;
  last_seen_at: string | null;
  trouble: string;
}

/** One attempt with its charge. */
export interface AttemptCharge {
  n: number;
  site: string;
  account: string | null;
  charge: Charge;
}

/** Where a standing budget holds: everything that is given must agree. */
export interface BudgetScope {
  channel: string | null;
  agent: string | null;
  site: string | null;
  per: 'day' | 'all';
}

/** (site, partition, account, concrete size), judged. ``size`` is None when a rule failed before sizing. */
export interface Candidate {
  site: string;
  partition: string;
  account: string | null;
  size: Size | null;
  verdicts: Verdict[];
  feasible: boolean;
  starts_now: boolean | null;
  queue_ahead: number | null;
  record_age_s: number | null;
  rank: number | null;
  simulated: boolean;
  qos: string | null;
  estimate: Estimate | null;
  sizes: [Size, Estimate][];
  copy_allowed: boolean;
}

/** One limit. ``least`` turns it round: a job must ask for so much. ``used`` is what the user has of it now. */
export interface Cap {
  on: 'gpus' | 'cpus' | 'memory_bytes' | 'nodes' | 'walltime_s' | 'running' | 'queued';
  per: 'job' | 'you' | 'account' | 'everybody';
  amount: number;
  gpu_model: string | null;
  least: boolean;
  source: string;
  used: number | null;
  sentence: string;
}

/** One name of the cell and how it travels. ``bytes`` is None where size has no meaning (an import). */
export interface Captured {
  name: string;
  type: string;
  travels: 'value' | 'source' | 'import' | 'module' | 'refused';
  bytes: number | null;
  detail: string;
}

/** The exception that ended the cell. ``traceback`` shows the user's own lines, plain text. */
export interface CellError {
  ename: string;
  evalue: string;
  traceback: string[];
}

/** What one attempt is charged, in its site's own ``unit``. None is unknown, never zero. */
export interface Charge {
  unit: string;
  predicted: number | null;
  at_most: number | null;
  per_hour: number | null;
  least_s: number;
  actual: number | null;
  settled_at: string | null;
}

/** What an hour here costs, in the site's own ``unit``: the largest of the shares that are named. */
export interface ChargeModel {
  resource: 'cpu' | 'gpu' | 'node';
  unit: string;
  cores_per_unit: number | null;
  memory_per_unit: number | null;
  gpus_per_unit: number | null;
  factor: number | null;
  least_s: number | null;
}

/** What was charged since a moment, and what is reserved now. ``caps`` are those that the user has set. */
export interface Charges {
  since: string;
  read_at: string;
  accounts: AccountCharges[];
  tasks: TaskCharges[];
  caps: Spent[];
  models: ModelUse;
}

/** The newest thing that a task has saved at its site. ``mark`` differs between two of the same name. */
export interface Checkpoint {
  name: string;
  mark: string;
}

/** The stored answer to *why here*. */
export interface Decision {
  made_at: string;
  snapshot_id: number;
  mode: 'rules' | 'pinned' | 'model';
  envelope: Envelope;
  candidates: Candidate[];
  chosen: number | null;
  sentence: string;
  ties: number[];
  tie_break: string;
  seed: number | null;
  objective: 'earliest_completion' | 'earliest_start' | 'lowest_cost' | 'least_waste' | 'prefer_site' | 'shortest_queue' | 'best_feasible' | 'random';
  alternatives: number[];
  warnings: string[];
  ranking: string;
}

/** Whom the scheduler lets into a partition, beyond what it hides. Empty: nobody is kept out by that rule. */
export interface Door {
  allow_accounts: string[];
  deny_accounts: string[];
  allow_qos: string[];
  deny_qos: string[];
}

/** [least viable, most useful] per resource, conditions and wishes, what is made small, and where it was pinned. */
export interface Envelope {
  nodes: Span;
  cpus: Span;
  gpus: Span;
  memory_bytes: Span | null;
  walltime_s: Span;
  arch: string | null;
  gpu_model: string | null;
  gpu_memory_bytes: number | null;
  site: string | null;
  partition: string | null;
  account: string | null;
  qos: string | null;
  objective: 'earliest_completion' | 'earliest_start' | 'lowest_cost' | 'least_waste' | 'prefer_site' | 'shortest_queue' | 'best_feasible' | 'random';
  seed: number | null;
  runtime: Runtime | null;
  sites: string[];
  fabric: string | null;
  container: string | null;
  preemptible: boolean;
  unknown_charge: boolean;
  deadline: string | null;
  max_charge: number | null;
  soft: ('arch' | 'gpu_model' | 'gpu_memory' | 'fabric' | 'container' | 'sites' | 'deadline' | 'max_charge' | 'preemptible')[];
  stage_in: StageIn[];
  stage_out: StageOut[];
  env: Environment | null;
}

/** What a task asks for: one of the site's by its ``name``, or one that is built there from ``requirements``. */
export interface Environment {
  name: string;
  requirements: string | null;
  python: string | null;
}

/** Every error answer of the API. */
export interface ErrorView {
  code: string;
  message: string;
  transient: boolean;
  evidence: string[];
}

/** What is minimised for one candidate, with its terms, in seconds. None is unknown; ``total_s`` sums what is known. */
export interface Estimate {
  forecast: Forecast;
  run_s: number | null;
  run_assumed: boolean;
  speed: number | null;
  prepare_s: number | null;
  transfer_s: number | null;
  total_s: number | null;
  charge: number | null;
  charge_at_most: number | null;
  charge_unit: string;
  charge_why: string;
  charge_per_hour: number | null;
  charge_least_s: number;
  charged: boolean;
}

/** ``seq`` grows by one per store and never has a reader-visible gap filled later. */
export interface Event {
  seq: number;
  at: string;
  type: 'task.created' | 'decision.made' | 'attempt.submitting' | 'attempt.submitted' | 'attempt.submit_unknown' | 'attempt.state_changed' | 'attempt.result_ready' | 'attempt.terminal' | 'attempt.trouble' | 'task.cancel_requested' | 'site.health_changed' | 'site.profile_drift' | 'snapshot.refreshed' | 'lease.taken' | 'login.changed' | 'task.retry' | 'task.resize' | 'task.migrate' | 'task.segment' | 'task.replanned' | 'task.not_again' | 'task.held' | 'task.released' | 'task.withdrawal' | 'task.stays' | 'task.mismatch' | 'group.created' | 'group.round_started' | 'group.round_finished' | 'group.constraint_relaxed' | 'group.stopped' | 'group.cancel_requested' | 'group.held' | 'group.released' | 'group.ended' | 'continuation.registered' | 'continuation.fired' | 'continuation.expired' | 'continuation.withdrawn' | 'charge.reserved' | 'charge.settled' | 'approval.requested' | 'approval.granted' | 'approval.denied' | 'approval.used' | 'policy.blocked' | 'agents.switched' | 'data.added' | 'data.changed' | 'data.removed' | 'attempt.staging' | 'transfer.created' | 'transfer.state_changed' | 'transfer.progress' | 'transfer.trouble' | 'transfer.cancel_requested' | 'transfer.ended' | 'environment.changed';
  subject: string;
  data: { [key: string]: unknown };
  dedup_key: string | null;
}

/** Events after a cursor, oldest first. ``cursor`` is what to ask for next. */
export interface EventPage {
  events: Event[];
  cursor: number;
}

/** Which names a recursive transfer takes or leaves, first match first, as Globus Transfer has them. */
export interface Filter {
  method: 'include' | 'exclude';
  name: string;
  type: 'file' | 'dir' | null;
}

/** One question's answer. ``evidence`` are lines of the log, of accounting, of the receipt: foreign text. */
export interface Finding {
  question: 'accepted' | 'started' | 'clean_log' | 'outputs' | 'size' | 'ended_well';
  answer: 'yes' | 'no' | 'unknown';
  sentence: string;
  evidence: string[];
  signs: ('traceback' | 'mpi' | 'gpu_memory' | 'gpu' | 'memory' | 'crash' | 'not_found' | 'nan_loss' | 'disk' | 'scheduler' | 'killed' | 'error')[];
}

/** The wait for a start, in seconds. ``low_s`` to ``high_s`` holds 8 of 10 recorded outcomes like it, if there are any to say so. */
export interface Forecast {
  wait_s: number | null;
  low_s: number | null;
  high_s: number | null;
  method: 'fits_now' | 'replay' | 'test_only' | 'depth' | 'unknown';
  because: string;
  beyond: boolean;
}

/** What a job could still get on one usable node: the smaller of what is idle and what is not held by others. */
export interface FreeNode {
  cpus: number;
  memory_bytes: number | null;
  gpus: number | null;
  gpu_model: string | null;
  gpu_kinds: GpuKind[];
  whole: boolean | null;
  free_for_s: number | null;
  nodes: number;
}

/** GPUs of one kind on a node that has several. A MIG slice that the scheduler counts is a kind of its own. */
export interface GpuKind {
  model: string | null;
  gpus: number;
  memory_bytes: number | null;
  memory_at_least_bytes: number | null;
  memory_at_most_bytes: number | null;
}

/** Parts of GPUs that are given one by one and are no GPUs: shards, or percents of MPS. */
export interface GpuShare {
  kind: 'shard' | 'mps';
  total: number;
  free: number | null;
}

/** A group as its owner sees it. ``states`` counts the members of all rounds that have begun, by state. */
export interface Group {
  id: string;
  name: string;
  language: 'python' | 'bash';
  phase: Phase;
  outcome: Outcome | null;
  members: number;
  states: { [key: string]: number };
  round: number;
  rounds: number;
  next_round: 'ok' | 'ended';
  at_once: number | null;
  params: string[];
  shares: GroupShare[];
  charges: Charge[];
  relaxed: Relaxed[];
  cause: string;
  next: string;
  why_here: string;
  created_at: string;
  ended_at: string | null;
  cancel_requested_by: string | null;
  held_by: string | null;
  by: string | null;
  source: string;
  digest: string;
  outputs: string[];
  envelope: Envelope;
  notebook: NotebookCell;
  version: number;
}

/** How many of a group are at one place, and how far they are; ``wait_s`` is the forecast for its first. */
export interface GroupShare {
  site: string;
  partition: string | null;
  waiting: number;
  running: number;
  ended: number;
  wait_s: number | null;
  why: string;
}

/** What a task may do by itself when an attempt of it fails. */
export interface Healing {
  retries: number;
  moves: number;
  segments: number;
  warn_s: number | null;
  warn_signal: 'USR2' | 'USR1' | 'HUP';
}

/** One partition over time: columns of equal length, one place a span of time, oldest first. */
export interface HistorySeries {
  partition: string;
  unit: 'GPU' | 'CPU';
  at: string[];
  readings: number[];
  free: (number | null)[];
  total: (number | null)[];
  pending: (number | null)[];
  running: (number | null)[];
  mine_pending: (number | null)[];
  mine_running: (number | null)[];
}

/** A file that the task left. ``path`` is relative to the folder that its cell ran in, ``Manifest.folder``. */
export interface KeptFile {
  path: string;
  bytes: number;
  mtime: number;
  sha256: string;
  media_type: string;
  patterns: number[];
}

/** What a kernel must keep to before it sends anything. All in bytes. */
export interface Limits {
  value_bytes: number;
  bundle_bytes: number;
  inline_result_bytes: number;
}

/** One place of a file or a folder. ``str`` gives it as it is written: ``delta:/scratch/x``, ``globus://UUID/path``. */
export interface Location {
  kind: 'site' | 'globus' | 'home';
  site: string | null;
  collection: string | null;
  path: string;
}

/** A piece of a job's log. Offsets count bytes; ``text`` is decoded, undecodable bytes are escaped. */
export interface LogChunk {
  text: string;
  offset: number;
  next_offset: number;
  size: number | null;
  exists: boolean;
}

/** The state of the login. ``problem`` is one sentence when it is not ``signed_in``, or will not be for much longer. */
export interface Login {
  health: 'signed_in' | 'needs_login' | 'not_installed' | 'unreachable';
  mode: 'web' | 'tokens' | 'service' | 'pasted' | 'cached' | 'none';
  identity: string | null;
  problem: string;
  expires_at: string | null;
  ways: ('web' | 'code')[];
  service_identity: boolean;
  tokens_path: string | null;
}

/** A login that was begun: open ``url``, allow, and come back (``web``) or paste the code (``code``). */
export interface LoginStart {
  way: 'web' | 'code';
  url: string;
  needed_for: string;
}

/** What the runner wrote when the cell was over. Times are seconds since 1970. */
export interface Manifest {
  format: number;
  token: string;
  member: number | null;
  params: { [key: string]: boolean | number | string | null };
  outcome: 'OK' | 'FAILED';
  error: CellError | null;
  values: ResultFile[];
  missing: MissingValue[];
  outputs_bytes: number;
  outputs_truncated: boolean;
  folder: string;
  files: KeptFile[];
  files_count: number;
  files_bytes: number;
  files_left_out: number;
  files_unmatched: number[];
  files_note: string;
  files_sha256: string;
  python: string;
  packages: { [key: string]: string };
  modules: string[];
  host: string;
  started_at: number;
  ended_at: number;
  max_rss_bytes: number | null;
}

/** One row of a group's members. */
export interface MemberSummary {
  id: string;
  name: string;
  group: string | null;
  index: number | null;
  state: State;
  phase: Phase;
  outcome: Outcome | null;
  site: string | null;
  partition: string | null;
  native_id: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  walltime_s: number | null;
  reason_class: ReasonClass | null;
  cause: string;
  trouble: string;
  attempts: number;
  version: number;
  notebook: string | null;
  params: { [key: string]: boolean | number | string | null };
  charges: Charge[];
  before: State[];
}

/** Which member of which group a task is, and what it is given that the others are not. */
export interface Membership {
  group: string;
  name: string;
  index: number;
  params: { [key: string]: boolean | number | string | null };
}

/** Somebody reported that an attempt's site is wrong for its task, which goes there no more. Foreign text. */
export interface Mismatch {
  by: string;
  at: string;
  reason: string;
  instead: [string, string | null, string | null] | null;
}

/** A variable that was asked for and did not come back. */
export interface MissingValue {
  name: string;
  why: string;
}

/** What several calls took together. */
export interface ModelUse {
  calls: number;
  unmeasured: number;
  prompt_tokens: number;
  answer_tokens: number;
  seconds: number;
}

/** A job as its scheduler names it. ``cluster`` is kept for every later command when the id came with one (B02). */
export interface NativeJob {
  id: string;
  cluster: string | null;
}

/** The site says that there is no limit: neither unknown nor a number. */
export type NoLimit = 'no_limit';

/** A kind of node and how many of them are in service, busy ones included. */
export interface NodeShape {
  cpus: number | null;
  memory_bytes: number | null;
  gpus: number | null;
  gpu_model: string | null;
  gpu_memory_bytes: number | null;
  gpu_memory_at_most_bytes: number | null;
  gpu_memory_at_least_bytes: number | null;
  gpu_kinds: GpuKind[];
  arch: string | null;
  features: string[];
  nodes: number;
}

/** Where the request came from. */
export interface NotebookCell {
  path: string | null;
  cell_id: string | null;
}

/** How an attempt ended. */
export type Outcome = 'OK' | 'FAILED' | 'CANCELLED' | 'TIMEOUT' | 'OOM' | 'NODE_FAIL' | 'PREEMPTED' | 'NEVER_STARTED' | 'LOST';

/** The wait at every partition at one instant. */
export interface Outlook {
  made_at: string;
  places: OutlookPlace[];
}

/** When a small job would start at one partition: of one GPU where it has any, else of one core; for one hour. */
export interface OutlookPlace {
  site: string;
  partition: string;
  unit: 'GPU' | 'CPU';
  forecast: Forecast | null;
  why: string;
}

/** What the user's own jobs of one account, QOS and partition hold now, and how many wait. */
export interface OwnUse {
  account: string;
  qos: string;
  partition: string;
  running: number;
  pending: number;
  cpus: number;
  nodes: number;
  gpus: number | null;
  memory_bytes: number | null;
}

/** The documented rules of one partition. None is unknown; an empty tuple is *no such rule known*. */
export interface PartitionPolicy {
  machine: string;
  select_by: 'partition' | 'constraint' | 'queue';
  selectable: boolean;
  resource: 'cpu' | 'gpu' | null;
  walltime_by_nodes: WalltimeStep[];
  min_walltime_s: number | null;
  min_nodes: number | null;
  gpu_counts: number[];
  reached_through: string | null;
  by_request: boolean;
  unavailable: string;
  charge_factor: number | null;
  min_charge_s: number | null;
  charge: ChargeModel | null;
  preemptible: string;
  containers: string[];
  fabric: string | null;
  account_pattern: string | null;
  required_options: RequiredOption[];
  forbidden_options: string[];
  lanes: string[];
}

/** The four things a user needs to tell apart. */
export type Phase = 'PENDING' | 'RUNNING' | 'ENDED' | 'UNKNOWN';

/** How far it is. None: not known (yet). ``bytes_sent`` counts what was sent again, too. */
export interface Progress {
  bytes_total: number | null;
  bytes_done: number;
  files_total: number | null;
  files_done: number;
  files_skipped: number;
  bytes_sent: number | null;
  faults: number;
  rate: number | null;
  eta_s: number | null;
}

/** One act that an agent wants to do, as it is shown to the user before anything happens. */
export interface Proposal {
  id: string;
  hash: string;
  terms: Terms;
  title: string;
  why: string;
  intent: string;
  asked: string;
  source: string;
  script: string;
  starts_in_s: number | null;
  runs_s: number | null;
  predicted: number | null;
  tries: number;
  notes: string[];
  by: Speaker;
  created_at: string;
  expires_at: string;
  standing: 'waiting' | 'approved' | 'denied' | 'done' | 'void' | 'expired';
  reason: string;
  decided_by: string | null;
  decided_at: string | null;
  budget: string | null;
  began_at: string | null;
  task: string | null;
  result: string;
  told: boolean;
  changed: string[];
}

/** One QOS with its limits. */
export interface Qos {
  name: string;
  flags: string[];
  caps: Cap[];
}

/** What a pending reason means for the user (B13). */
export type ReasonClass = 'will_run' | 'waits_on_you' | 'never' | 'unknown';

/** Live facts of one (site, partition). Counts are of this partition; nodes may be shared with others. */
export interface Record {
  site: string;
  partition: string;
  default: boolean;
  state: 'up' | 'down' | 'drain' | 'inactive' | 'unknown';
  read_at: string;
  shapes: NodeShape[];
  nodes_total: number | null;
  nodes_usable: number | null;
  cpus_total: number | null;
  cpus_free: number | null;
  gpus_total: number | null;
  gpus_free: number | null;
  memory_free_bytes: number | null;
  free_nodes: FreeNode[];
  gpu_shares: GpuShare[];
  pending: number | null;
  running: number | null;
  mine_pending: number | null;
  mine_running: number | null;
  walltime_cap_s: number | NoLimit | null;
  max_nodes: number | NoLimit | null;
  whole_node: boolean | null;
  hidden: boolean;
  qos: string | null;
  door: Door | null;
  caps: Cap[];
  policy: PartitionPolicy | null;
}

/** A soft condition that stood in the way of a round and was given up. Hard ones never are. */
export interface Relaxed {
  round: number;
  condition: 'arch' | 'gpu_model' | 'gpu_memory' | 'fabric' | 'container' | 'sites' | 'deadline' | 'max_charge' | 'preemptible';
  why: string;
}

/** An option without which the site refuses a job. ``example`` is what the user would write. */
export interface RequiredOption {
  option: string;
  example: string;
  why: string;
}

/** One variable that came back. ``hmac`` is HMAC-SHA256 over the file's bytes with the attempt's key. */
export interface ResultFile {
  name: string;
  codec: 'json' | 'npy' | 'parquet' | 'pickle';
  file: string;
  bytes: number;
  sha256: string;
  hmac: string;
  bytecode: string;
  type: string;
  preview: string;
}

/** A finished attempt's receipt with its small values inline. */
export interface ResultView {
  task_id: string;
  attempt: number;
  manifest: Manifest;
  key: string;
  inline: { [key: string]: string };
  outputs: { [key: string]: unknown }[];
}

/** How long the work takes, as far as the user can say: a guess for placing, never a limit. */
export interface Runtime {
  seconds: number;
  units: number | null;
  serial: number | null;
  curve: [number, number][];
}

/** The kept past of one site. ``span_s`` is 0 where each place is one reading, else the length of a span. */
export interface SiteHistory {
  site: string;
  since: string;
  span_s: number;
  series: HistorySeries[];
}

/** What accounting says of this user: asked seldom, as it changes seldom and costs the site's database. */
export interface SiteLimits {
  read_at: string;
  associations: Association[];
  default_account: string | null;
  qos: Qos[];
}

/** What one probe of one site gave. ``read_at`` is None until the first answer. */
export interface SiteReading {
  site: string;
  transport: string;
  scheduler: string;
  health: 'online' | 'degraded' | 'offline' | 'needs_login' | 'unknown';
  read_at: string | null;
  tried_at: string | null;
  probe_s: number | null;
  problem: string;
  failing_since: string | null;
  next_try_at: string | null;
  clock_at: string | null;
  scheduler_version: string | null;
  cluster: string | null;
  user: string | null;
  accounting: boolean | null;
  machine: string | null;
  records: Record[];
  cpus_total: number | null;
  cpus_free: number | null;
  gpus_total: number | null;
  gpus_free: number | null;
  pending: number | null;
  running: number | null;
  array_places: number | null;
  array_members: number | null;
  limits: SiteLimits | null;
  own: OwnUse[] | null;
  notes: string[];
  unreadable: string[];
  simulated: boolean;
}

/** One concrete allocation: what is asked of the scheduler. ``cpus``, ``gpus`` and ``memory_bytes`` are per node. */
export interface Size {
  nodes: number;
  cpus: number;
  gpus: number;
  gpu_type: string | null;
  memory_bytes: number | null;
  walltime_s: number;
}

/** Every site's newest reading at one instant. Site totals count each node once; sites are never added up. */
export interface Snapshot {
  id: number;
  taken_at: string;
  sites: SiteReading[];
}

/** From the least viable to the most useful amount, both ends included. */
export interface Span {
  min: number;
  max: number;
}

/** Who asks. ``user`` is whom the Jupyter server authenticated; ``agent`` None: that person, with their own hands. */
export interface Speaker {
  user: string;
  agent: string | null;
  channel: string;
  guest: boolean;
}

/** The most that the user allows: for one task with all its attempts, in any 24 hours, at a site (on one account) in all, or for one agent in any 24 hours. */
export interface SpendingCap {
  scope: 'task' | 'day' | 'account' | 'agent';
  amount: number;
  unit: string;
  site: string | null;
  account: string | null;
}

/** What stands against a cap now. ``unknown`` counts attempts whose charge is not known and is not in the sums. */
export interface Spent {
  cap: SpendingCap;
  spent: number;
  reserved: number;
  unknown: number;
}

/** Data that must be at the site before the job is submitted: a dataset by its name, or a location with one. */
export interface StageIn {
  name: string;
  source: Location | null;
}

/** Files that a task leaves. ``pattern`` is relative to the folder that its cell runs in. */
export interface StageOut {
  pattern: string;
  destination: Location | null;
}

/** What became of one stage-in of an attempt. ``path`` is where the cell finds it, absolute at the site. */
export interface Staged {
  name: string;
  path: string;
  transfer: string | null;
  why: string;
}

/** What the user lets agents do without being asked each time. */
export interface StandingBudget {
  id: string;
  scope: BudgetScope;
  allowance: Allowance;
  set_by: string;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
  used: { [key: string]: number };
}

/** The canonical state of an attempt, and of its task. UNKNOWN is a state; absence is not an end. */
export type State = 'waiting' | 'staging_in' | 'submitting' | 'submit_unknown' | 'pending' | 'configuring' | 'running' | 'suspended' | 'completing' | 'staging_out' | 'unknown' | 'completed' | 'failed' | 'cancelled' | 'timeout' | 'out_of_memory' | 'node_fail' | 'preempted' | 'rejected' | 'deadline' | 'lost';

/** The handshake: who answers, and whether this server advances work or only reads. */
export interface Status {
  version: string;
  advances_work: boolean;
  lease_holder: string;
  store_path: string;
  limits: Limits;
  active_tasks: number;
  newest_event: number;
}

/** A task as its owner sees it, with the newest attempt's state as its own. */
export interface Task {
  id: string;
  name: string;
  language: 'python' | 'bash';
  state: State;
  phase: Phase;
  outcome: Outcome | null;
  cause: string;
  next: string;
  created_at: string;
  ended_at: string | null;
  cancel_requested_by: string | null;
  by: string | null;
  member: Membership | null;
  held_by: string | null;
  healing: Healing;
  source: string;
  digest: string;
  outputs: string[];
  envelope: Envelope;
  captured: Captured[];
  notebook: NotebookCell;
  why_here: string;
  attempts: Attempt[];
  version: number;
}

/** One task's charges, attempt by attempt: they may be in different units. */
export interface TaskCharges {
  task_id: string;
  name: string;
  attempts: AttemptCharge[];
}

/** One row of a task list. */
export interface TaskSummary {
  id: string;
  name: string;
  group: string | null;
  index: number | null;
  state: State;
  phase: Phase;
  outcome: Outcome | null;
  site: string | null;
  partition: string | null;
  native_id: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  walltime_s: number | null;
  reason_class: ReasonClass | null;
  cause: string;
  trouble: string;
  attempts: number;
  version: number;
  notebook: string | null;
}

/** Of the newest attempt. ``correct`` is yes only when every finding is; no when one is; else unknown. */
export interface TaskVerdict {
  task: string;
  name: string;
  state: State;
  attempt: number;
  correct: 'yes' | 'no' | 'unknown';
  sentence: string;
  findings: Finding[];
  attempts_left: number;
  moves_left: number;
  judged_at: string;
}

/** What an approval is bound to. Everything that decides what happens and what it costs is in here. */
export interface Terms {
  act: 'submit' | 'submit_group' | 'replan' | 'cancel' | 'hold' | 'release' | 'smoke' | 'put_file' | 'execute' | 'mismatch' | 'transfer' | 'cancel_transfer' | 'register_data';
  subject: string;
  site: string | null;
  partition: string | null;
  account: string | null;
  size: Size | null;
  request_sha256: string;
  bundle_sha256: string;
  script_sha256: string;
  charge: Charge | null;
  members: number | null;
  data: string[];
  arguments: { [key: string]: string };
}

/** A movement, as it is known. ``cause`` and ``next`` as an attempt has them; ``trouble`` while it goes on. */
export interface Transfer {
  id: string;
  request: TransferRequest;
  mover: 'globus' | 'rsync' | 'stream' | 'chunks' | 'copy';
  why: string;
  state: 'waiting' | 'submitting' | 'active' | 'stalled' | 'paused' | 'needs_you' | 'placing' | 'succeeded' | 'failed' | 'cancelled';
  progress: Progress;
  submission_id: string | null;
  native_id: string | null;
  trouble: string;
  link: string;
  cause: string;
  next: string;
  fault: 'missing' | 'permission' | 'no_space' | 'no_way' | 'corrupt' | 'changed' | 'late' | 'needs_you' | 'refused' | 'broken' | null;
  evidence: string[];
  digest: string | null;
  compared: [string, string] | null;
  log: string[];
  cancel_requested_by: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  deadline: string;
  state_since: string;
  version: number;
}

/** What is asked for. ``client_token`` makes it idempotent: the same token always gives the same transfer. */
export interface TransferRequest {
  client_token: string;
  source: Location;
  destination: Location;
  files: string[];
  filters: Filter[];
  sync: 'exists' | 'size' | 'mtime' | 'checksum' | null;
  verify: boolean;
  deadline_s: number;
  purpose: 'stage_in' | 'stage_out' | 'user' | 'agent';
  dataset: string | null;
  task: string | null;
  attempt: number | null;
  by: string | null;
}

/** One rule's answer for one candidate. */
export interface Verdict {
  rule: string;
  heading: 'health' | 'authorization' | 'partition' | 'architecture' | 'accelerator' | 'capacity' | 'walltime' | 'container' | 'user limits' | 'credit' | null;
  answer: 'pass' | 'fail' | 'unknown';
  observed: string;
  required: string;
  sentence: string;
  change: string;
  advice: string;
  moot: boolean;
  soft: boolean;
}

/** Jobs of up to so many nodes may run for so long. */
export interface WalltimeStep {
  nodes: number;
  walltime_s: number;
}

/** A job that waits at its site shall be taken back there, and what then: a new plan, nothing for now, a move. */
export interface Withdrawal {
  by: string;
  then: 'replan' | 'hold' | 'migrate';
  unpin: boolean;
  to: [string, string | null, string | null] | null;
  why: string;
}
