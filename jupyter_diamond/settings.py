"""Every setting, its unit, its default and why. Set them as traits (``c.DiamondStore.path = …``) or by environment."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir
from traitlets import Bool, Dict, Float, Int, List, Unicode, Union, default
from traitlets.config import LoggingConfigurable


class DiamondStore(LoggingConfigurable):
    """Where tasks live."""

    path = Unicode(
        help="The store's file; its folder is made 0700 and the file 0600. Environment: JUPYTER_DIAMOND_STORE."
    ).tag(config=True)
    lease_s = Float(
        15.0,
        help="Seconds after which another server of yours may take over the work of one that has gone silent.",
    ).tag(config=True)

    @default("path")
    def _default_path(self) -> str:
        given = os.environ.get("JUPYTER_DIAMOND_STORE")
        return given or str(Path(jupyter_data_dir()) / "diamond" / "store.sqlite")


class DiamondSites(LoggingConfigurable):
    """Which sites there are."""

    path = Unicode(help="The site catalogue, a YAML file. Environment: JUPYTER_DIAMOND_SITES.").tag(config=True)
    this_machine = Bool(default_value=True, help="Offer this machine as the site 'here'.").tag(config=True)
    this_machine_workdir = Unicode("", help="Where attempts on this machine live; by default beside the store.").tag(
        config=True
    )

    @default("path")
    def _default_path(self) -> str:
        return os.environ.get("JUPYTER_DIAMOND_SITES") or str(Path(jupyter_config_dir()) / "diamond" / "sites.yaml")


class DiamondEngine(LoggingConfigurable):
    """How often sites are asked, and how long answers are waited for. All in seconds."""

    probe_tick_s = Float(60.0, help="Time between two probes of a site; sites ask for no more than one a minute.").tag(
        config=True
    )
    probe_rest_s = Float(
        300.0,
        help="The same while nobody looks at the sites: no wall, no sidebar, no new task. Half of stale_s, so that a "
        "decision always has records that may be used, even of a site that answers slowly then.",
    ).tag(config=True)
    probe_timeout_s = Float(30.0, help="A probe that takes longer counts as failed.").tag(config=True)
    limits_tick_s = Float(
        3600.0,
        help="Time between two askings of a site's accounting for what you may have there (QOS, associations): it "
        "changes seldom, and costs the site's database.",
    ).tag(config=True)
    fresh_s = Float(
        120.0, help="A record older than this is probed again before a decision. Two ticks, as in the source paper."
    ).tag(config=True)
    stale_s = Float(600.0, help="A record older than this never passes placement: ten ticks.").tag(config=True)
    command_timeout_s = Float(60.0, help="How long one scheduler command may take.").tag(config=True)
    lookup_for_s = Float(
        60.0, help="How long a job that may have been submitted is looked for before it is submitted again."
    ).tag(config=True)
    lost_after_s = Float(900.0, help="How long every source must be silent about a job before it is called lost.").tag(
        config=True
    )
    file_watch_s = Float(
        0.04, help="How often the end-file of a running attempt is looked at where the site's files are in reach."
    ).tag(config=True)


class DiamondGlobus(LoggingConfigurable):
    """How Globus is reached, and as whom. Secrets come from the environment alone, never from here."""

    client_id = Unicode(
        help="The client id of an application of yours, registered with Globus, for logins in the browser or by a "
        "pasted code. Empty: the Globus Compute SDK's own. Environment: GLOBUS_CLIENT_ID (or PORTAL_CLIENT_ID)."
    ).tag(config=True)
    public_url = Unicode(
        help="The address of this Jupyter server as a browser reaches it, with its base_url, where the server stands "
        "behind a proxy and a sign-in is begun elsewhere than in the browser. "
        "Environment: JUPYTER_DIAMOND_PUBLIC_URL."
    ).tag(config=True)
    tokens_folder = Unicode(help="Where tokens of a login lie: a folder 0700, files 0600.").tag(config=True)
    timeout_s = Float(15.0, help="How long one request to a Globus service may take, in seconds.").tag(config=True)
    answer_s = Float(
        120.0, help="How long an endpoint's answer is waited for beyond the command's own time, in seconds."
    ).tag(config=True)

    @default("client_id")
    def _default_client_id(self) -> str:
        return os.environ.get("GLOBUS_CLIENT_ID") or os.environ.get("PORTAL_CLIENT_ID") or ""

    @default("public_url")
    def _default_public_url(self) -> str:
        return os.environ.get("JUPYTER_DIAMOND_PUBLIC_URL") or os.environ.get("JUPYTERHUB_PUBLIC_URL") or ""

    @default("tokens_folder")
    def _default_tokens_folder(self) -> str:
        return str(Path(jupyter_data_dir()) / "diamond" / "globus")


class DiamondNews(LoggingConfigurable):
    """Where news are posted. The secret that signs them is JUPYTER_DIAMOND_WEBHOOK_SECRET, in the environment alone."""

    webhook_url = Unicode(
        help="Where news of the consumer 'webhook' are posted: an https address, or one of this machine. Empty: "
        "nowhere. Each comes at least once: Idempotency-Key and Diamond-Sequence tell what comes again. Environment: "
        "JUPYTER_DIAMOND_WEBHOOK_URL."
    ).tag(config=True)
    webhook_for_s = Float(
        259_200.0, help="How long one piece of news is posted again until it is acknowledged, in seconds: three days."
    ).tag(config=True)
    webhook_timeout_s = Float(15.0, help="How long one answer of the webhook is waited for, in seconds.").tag(
        config=True
    )

    @default("webhook_url")
    def _default_webhook_url(self) -> str:
        return os.environ.get("JUPYTER_DIAMOND_WEBHOOK_URL", "")


class DiamondData(LoggingConfigurable):
    """How data moves between sites, collections and this machine."""

    collections = Dict(
        value_trait=Unicode(),
        key_trait=Unicode(),
        help="Globus collections that hold files of this machine, each with the folder that is its root: "
        "{'UUID': '/home/me'}.",
    ).tag(config=True)
    at_once = Int(3, help="How many transfers run at once between two places; others wait.").tag(config=True)
    small_bytes = Int(
        2 << 20,
        help="Up to this size data goes through a shell at both ends even where Globus Transfer could move it, and "
        "through Globus Compute at all.",
    ).tag(config=True)
    look_s = Float(
        60.0, help="How long it may take to count what lies at a location; what takes longer is moved uncounted."
    ).tag(config=True)


class DiamondLimits(LoggingConfigurable):
    """What may travel with a cell, in bytes."""

    value_bytes = Int(
        32 << 20, help="The largest single value that travels with a cell; larger data belongs in a file."
    ).tag(config=True)
    bundle_bytes = Int(256 << 20, help="The largest sum of all that travels with a cell.").tag(config=True)
    inline_result_bytes = Int(
        4 << 20, help="Results up to this size come with the receipt; larger ones are fetched one by one."
    ).tag(config=True)


class DiamondBudget(LoggingConfigurable):
    """What tasks may cost at most: amounts with the unit that a site charges in, such as ``20 GPU-hours``.

    Empty, as they are by default: no cap. Against a cap counts what is spent and what is reserved for tasks under way,
    each for its whole time limit. Units are never converted, so every unit needs a cap of its own.
    """

    per_task = List(
        Unicode(),
        help="The most for one task with all its attempts, one amount a unit: ['20 GPU-hours', '500 core-hours'].",
    ).tag(config=True)
    per_day = List(
        Unicode(), help="The most for all tasks in any 24 hours, one amount a unit: ['100 core-hours']."
    ).tag(config=True)
    per_account = Dict(
        value_trait=Union([Unicode(), List(Unicode())]),
        key_trait=Unicode(),
        help="The most for all tasks at a site, or on one account of it, for good, in the site's own unit: "
        "{'delta': '5000 core-hours', 'anvil/abc123': '200 GPU-hours'}.",
    ).tag(config=True)
    per_agent = List(
        Unicode(), help="The most for one agent's tasks in any 24 hours, one amount a unit: ['2 GPU-hours']."
    ).tag(config=True)


class DiamondApprovals(LoggingConfigurable):
    """How long what agents propose waits for your word, and how long your word holds."""

    lasts_s = Float(
        86_400.0,
        help="How long a proposal waits for an answer, and how long an approval that was not used yet holds, in "
        "seconds: a day. At most a week.",
    ).tag(config=True)


class DiamondMcp(LoggingConfigurable):
    """What other programs on this machine may see."""

    tools_without_token = Bool(
        default_value=False,
        help="Register the tools that only look, as diamond_NAME, with the MCP server of jupyter_server_mcp (port "
        "3001). That server asks for no token: everybody with an account on this machine can then read your tasks, "
        "their logs and results. Leave it off on login nodes: python -m jupyter_diamond.mcp needs none of this.",
    ).tag(config=True)


class DiamondAgent(LoggingConfigurable):
    """Which language model drafts, ranks and talks, if any, and how much it may take. Without one all else works.

    Its key comes from the environment (JUPYTER_DIAMOND_MODEL_KEY, or the provider's own variable) or the keyring of the
    operating system, never from here.
    """

    model = Unicode(
        help="PROVIDER:NAME: openai:gpt-5-mini, anthropic:claude-sonnet-5, google:gemini-3-flash, or local:NAME for a "
        "server of yours that speaks as OpenAI's does (vLLM, Ollama), which base_url names. Empty: no model is ever "
        "asked. Environment: JUPYTER_DIAMOND_MODEL."
    ).tag(config=True)
    base_url = Unicode(
        help="The address of the model's API, where it is not the provider's own: http://127.0.0.1:11434/v1. "
        "Environment: JUPYTER_DIAMOND_MODEL_URL."
    ).tag(config=True)
    timeout_s = Float(120.0, help="How long one answer of the model is waited for, in seconds.").tag(config=True)
    turn_s = Float(900.0, help="How long one turn may take with all its answers and calls of tools, in seconds.").tag(
        config=True
    )
    turn_requests = Int(20, help="How often the model may be asked in one turn: what ends an endless loop.").tag(
        config=True
    )
    turn_tokens = Int(200_000, help="The most tokens that one turn may take, prompts and answers together.").tag(
        config=True
    )
    answer_tokens = Int(8192, help="The most tokens of one answer; the provider is told so.").tag(config=True)
    draft_s = Float(
        30.0, help="How long a draft waits for the model, in seconds; then our own reading of the code is the draft."
    ).tag(config=True)
    draft_code_bytes = Int(
        24_000, help="How much of a cell's code is shown to the model for a draft, in characters."
    ).tag(config=True)
    ranking = Bool(
        default_value=False,
        help="Let the model reorder the places that passed every rule, when a task is planned or submitted. It can "
        "add none, remove none and overrule nothing; the decision says so.",
    ).tag(config=True)
    ranking_s = Float(
        10.0, help="How long a plan waits for the model's order, in seconds; then the rules' own order stands."
    ).tag(config=True)

    @default("model")
    def _default_model(self) -> str:
        return os.environ.get("JUPYTER_DIAMOND_MODEL", "")

    @default("base_url")
    def _default_base_url(self) -> str:
        return os.environ.get("JUPYTER_DIAMOND_MODEL_URL", "")
