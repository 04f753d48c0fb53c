/** Kinds of entries of the history, by the events that the service is asked for. */

interface Kind {
  /** Types of events of runs; null for none, all of them where it is empty. */
  runs: string[] | null;
  /** Types of entries of the company's log, likewise. */
  log: string[] | null;
}

export const KINDS: Record<string, Kind> = {
  people: {
    runs: [
      "run_started",
      "verdict_given",
      "verdict_withdrawn",
      "proposal_made",
      "message_received",
      "compensation_began",
      "run_ended",
      "run_migrated",
      "run_promoted",
      "step_entered",
      "glass_broken",
    ],
    log: [],
  },
  verdicts: { runs: ["verdict_given"], log: null },
  proposals: { runs: ["proposal_made"], log: null },
  clocks: {
    runs: [
      "clock_started",
      "clock_paused",
      "clock_resumed",
      "clock_extended",
      "clock_rescheduled",
      "clock_warned",
      "clock_breached",
      "clock_stopped",
    ],
    log: null,
  },
  members: {
    runs: null,
    log: ["member_changed", "group_changed", "name_changed", "delegation_made", "delegation_ended"],
  },
  access: {
    runs: ["glass_broken", "glass_mended"],
    log: [
      "api_key_changed",
      "api_key_created",
      "api_key_deleted",
      "action_pauses_changed",
      "action_rules_changed",
      "autonomy_changed",
      "calendar_changed",
      "change_approved",
      "change_denied",
      "change_requested",
      "functions_changed",
      "password_changed",
      "password_reset_requested",
      "policy_changed",
      "second_factor_changed",
      "subject_linked",
    ],
  },
  connectors: { runs: null, log: ["connector_changed", "instance_changed", "mcp_server_changed"] },
  templates: {
    runs: ["run_migrated"],
    log: ["template_published", "template_retired"],
  },
  sessions: {
    runs: null,
    log: [
      "registered",
      "logged_in",
      "logged_out",
      "login_refused",
      "session_ended",
      "sessions_ended",
    ],
  },
  starts: { runs: ["run_started"], log: null },
  ends: { runs: ["run_ended"], log: null },
  all: { runs: [], log: [] },
};
