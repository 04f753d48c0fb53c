/**
 * Spanish. Readers are addressed as «usted».
 *
 * To add a text, add its key to the file of its page in `en` and in each other language.
 * To add a language, copy this folder, translate it, and add it to the two tables in `locale.ts`.
 *
 * Glossary:
 * account cuenta · approve aprobar · audit registro de auditoría · autopilot piloto automático ·
 * branch rama · business key clave de negocio · call llamada · claim (a gate) reservar · clock plazo
 * legal · commit asiento · connector conector · dashboard panel · deadline plazo · decide decidir · decision
 * decisión · delegation delegación · deny denegar · draft borrador · dry run prueba · endpoint
 * servicio de destino · finding observación · four eyes cuatro ojos · function cargo · gate
 * aprobación · group grupo · inbox bandeja · input dato · invitation invitación · live real · outcome resultado · people
 * personas · policy regla · proposal propuesta · publish publicar · quorum quórum · rehearsal
 * ensayo · retry reintentar · risk riesgo · role función · run proceso · second factor segundo
 * factor · shadowed prueba · sign in iniciar sesión · sign-off visto bueno · signal señal · start
 * (a run) iniciar · step paso · template plantilla · tool herramienta · undo deshacer · verdict
 * decisión · version versión · view vista
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
