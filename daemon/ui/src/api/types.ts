/**
 * The contract's schemas. Event, Edge and Node are renamed, because the DOM has types of these
 * names.
 */

import type { Act, Call, Gate, Run, TraceEntry } from "./contract";

export type {
  Action,
  ActionPauses,
  ActionRule,
  ActionRules,
  ActionTrialResult,
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
  EarlierCall,
  FunctionRule,
  Gate,
  GateAction,
  GateCount,
  GateRow,
  GatedChange,
  GlassBroken,
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
  OpenGate,
  OpenGateDetail,
  Panel,
  PlannedCall,
  Policy,
  Proposal,
  PublishedVersion,
  ReaderRule,
  Report,
  ReportClock,
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
  RetainedRun,
  RuleOfTemplate,
  Run,
  RunRow,
  SavedView,
  SlowestPath,
  StepCalibration,
  Template,
  TemplateCheck,
  TemplateDetail,
  TemplateVersion,
  TemplateVersionDetail,
  TraceEntry,
  TriedTemplate,
  VerdictResults,
  Violation,
  WebhookTestResult,
} from "./contract";
export type { OwnAccount as Account } from "./contract";
export type {
  Clock as RunClock,
  Edge as GraphEdge,
  Event as RunEvent,
  Function as CompanyFunction,
  Node as GraphNode,
} from "./contract";

/** What happens next in a run that is tried; members that are left out are null. */
export type TryAct = Partial<Act>;

export type Mode = Call["mode"];
export type RunStatus = Run["status"];
export type StepStatus = TraceEntry["status"];
export type Tier = Gate["tier"];
export type Values = Run["inputs"];
