/**
 * The contract's schemas. Event, Edge and Node are renamed, because the DOM has types of these
 * names.
 */

import type {
  Act,
  Call,
  Event as ContractEvent,
  Gate as ContractGate,
  GateRow as ContractGateRow,
  OpenGate as ContractOpenGate,
  Policy as ContractPolicy,
  RetainedRun as ContractRetainedRun,
  Run as ContractRun,
  TraceEntry,
  Violation as ContractViolation,
} from "./contract";

export type {
  ActiveSession,
  ApiKey,
  AuthOptions,
  Autonomy,
  Calendar,
  Calibration,
  Call,
  Canvas,
  Checkpoint,
  CitedRule,
  ClockRule,
  CompanyEvent,
  Connector,
  ConnectorTestResult,
  DecisionPreview,
  Delegation,
  DraftEntry,
  DraftedGraph,
  FunctionRule,
  GateCount,
  Group,
  ImportedGraph,
  InvitationDetails,
  InvitedMember,
  Judge,
  Member,
  NewApiKey,
  NewNotificationRule,
  NotificationDelivery,
  NotificationRule,
  Panel,
  PlannedCall,
  Proposal,
  PublishedVersion,
  ReaderRule,
  Report,
  ReportConnector,
  ReportDay,
  ReportedClearing,
  ReportedDecision,
  ReportedFailure,
  ReportedGate,
  ReportGate,
  ReportPerson,
  ReportStep,
  MadeRedaction,
  RehearsalCase,
  RehearsedAct,
  RuleOfTemplate,
  RunRow,
  SavedView,
  StepCalibration,
  Template,
  TemplateCheck,
  TemplateDetail,
  TemplateVersion,
  TemplateVersionDetail,
  TraceEntry,
  TriedTemplate,
  VerdictResults,
  WebhookTestResult,
} from "./contract";
export type { OwnAccount as Account } from "./contract";
export type { Edge as GraphEdge, Node as GraphNode } from "./contract";

/** A clock of a run: how long the law gives the case, and what has become of that. */
export interface RunClock {
  id: string;
  label: string;
  state: "running" | "paused" | "stopped" | "breached";
  started_at: string;
  /** While it is paused: as if it went on now. Null while nobody knows how long it is. */
  due_at: string | null;
  paused_s: number;
  /** How often it was extended. */
  extended: number;
  /** Of a stopped one as well, if the act came late. */
  breached_at: string | null;
  stopped_at: string | null;
  /** The step that was the act; null where the end of the run has closed it, for a `reason`. */
  stopped_by: string | null;
  reason: string | null;
  /** What its expressions have no clear answer for yet: `from` or `within`. */
  assumed: string[];
  source: string | null;
}

/** The function of the company that decides at a gate. */
export interface GateFunction {
  id: string;
  label: string;
  bound: boolean;
}

type ClockEvent =
  | "clock_started"
  | "clock_paused"
  | "clock_resumed"
  | "clock_extended"
  | "clock_rescheduled"
  | "clock_warned"
  | "clock_breached"
  | "clock_stopped";

export type RunEvent = Omit<ContractEvent, "type"> & {
  type: ContractEvent["type"] | ClockEvent | "glass_broken" | "glass_mended";
  /** The id of a clock, what it stands still for, and the step that stopped it. */
  clock?: string | null;
  during?: string | null;
  stopped_by?: string | null;
};

/** A function of the company: who fills it, and the templates that name it. */
export interface CompanyFunction {
  label: string;
  /** The role that decides while nobody is bound to it; null where no template names it. */
  role: string | null;
  groups: string[];
  members: string[];
  bound: boolean;
  /** How many active members fill it. */
  people: number;
  used_by: { vertical: string; steps: string[]; label: string; role: string }[];
}

interface Clocked {
  clocks?: RunClock[];
}

export type Run = Omit<ContractRun, "gates" | "gate"> &
  Clocked & { gates: Gate[]; gate: Gate | null };
export type RetainedRun = Omit<ContractRetainedRun, "gates" | "gate"> &
  Clocked & { gates: Gate[]; gate: Gate | null };
export type Gate = ContractGate & {
  function?: GateFunction | null;
  clock_due_at?: string | null;
  /** Who may decide, too, since a clock was breached. */
  breach_role?: string | null;
};
type WhyNot = ContractOpenGate["why_not"] | "function";
export type OpenGate = Omit<ContractOpenGate, "gate" | "why_not"> & {
  gate: Gate;
  why_not: WhyNot;
};
export type GateRow = Omit<ContractGateRow, "gate" | "why_not"> & {
  gate: ContractGateRow["gate"] & {
    clock_due_at?: string | null;
    function?: GateFunction | null;
  };
  why_not: WhyNot;
};
export type Policy = ContractPolicy & { functions?: "required" | "optional" };

/** What is wrong with a draft; a clock that cannot be kept comes with the way on which it is not. */
export type Violation = ContractViolation & {
  clock?: string | null;
  path?: string[] | null;
  takes?: string | null;
  within?: string | null;
};

/** What happens next in a run that is tried; members that are left out are null. */
export type TryAct = Partial<Act>;

export type Mode = Call["mode"];
export type RunStatus = Run["status"];
export type StepStatus = TraceEntry["status"];
export type Tier = Gate["tier"];
export type Values = Run["inputs"];
