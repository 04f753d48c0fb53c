/**
 * German. Readers are addressed as „Sie“.
 *
 * To add a text, add its key to the file of its page in `en` and in each other language.
 * To add a language, copy this folder, translate it, and add it to the two tables in `locale.ts`.
 *
 * Glossary:
 * account Konto · approve freigeben · audit Prüfprotokoll · autopilot Autopilot · branch Zweig ·
 * business key Geschäftsschlüssel · call Aufruf · claim (a gate) übernehmen · clock gesetzliche
 * Frist · commit Eintrag · connector Konnektor · dashboard Übersicht · deadline Frist · decide entscheiden · decision
 * Entscheidung · delegation Vertretung · deny ablehnen · draft Entwurf · dry run Probelauf ·
 * endpoint Endpunkt · finding Befund · four eyes Vier-Augen-Prinzip · function Funktion ·
 * gate Freigabe · group Gruppe · inbox Eingang · input Angabe · invitation Einladung · live produktiv · outcome Ergebnis · people
 * Personen · policy Regel · proposal Vorschlag · publish veröffentlichen · quorum Quorum · rehearsal
 * Probe · retry wiederholen · risk Risiko · role Rolle · run Vorgang · second factor zweiter Faktor ·
 * shadowed Probelauf · sign in anmelden · sign-off Freigabe · signal Signal · start (a run)
 * starten · step Schritt · template Vorlage · tool Werkzeug · undo rückgängig machen · verdict
 * Entscheidung · version Version · view Ansicht
 */

import type * as english from "../en";
import type { Texts } from "../messages";
import { account } from "./account";
import { actions } from "./actions";
import { audit } from "./audit";
import { autonomy } from "./autonomy";
import { changes } from "./changes";
import { clocks } from "./clocks";
import { common } from "./common";
import { connectors } from "./connectors";
import { dashboard } from "./dashboard";
import { editor } from "./editor";
import { gate } from "./gate";
import { inbox } from "./inbox";
import { labels } from "./labels";
import { library } from "./library";
import { notifications } from "./notifications";
import { panel } from "./panel";
import { people } from "./people";
import { problems } from "./problems";
import { readers } from "./readers";
import { runs } from "./runs";
import { sentences } from "./sentences";
import { templates } from "./templates";

export const texts: Texts<typeof english> = {
  account,
  actions,
  audit,
  autonomy,
  changes,
  clocks,
  common,
  connectors,
  dashboard,
  editor,
  gate,
  inbox,
  labels,
  library,
  notifications,
  panel,
  people,
  problems,
  readers,
  runs,
  sentences,
  templates,
};
