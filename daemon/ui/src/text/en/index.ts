/**
 * English, the language that all others translate.
 *
 * To add a text, add a key to the file of its page here and in each other language, and show it by
 * `t("key", { value })`; TypeScript reports a language that lacks the key or one of its values.
 * To add a language, copy the folder `de`, translate it, and add it to the two tables in
 * `locale.ts`.
 */

export { account } from "./account";
export { actions } from "./actions";
export { audit } from "./audit";
export { autonomy } from "./autonomy";
export { changes } from "./changes";
export { clocks } from "./clocks";
export { common } from "./common";
export { connectors } from "./connectors";
export { dashboard } from "./dashboard";
export { editor } from "./editor";
export { gate } from "./gate";
export { inbox } from "./inbox";
export { labels } from "./labels";
export { library } from "./library";
export { notifications } from "./notifications";
export { panel } from "./panel";
export { people } from "./people";
export { problems } from "./problems";
export { readers } from "./readers";
export { runs } from "./runs";
export { sentences } from "./sentences";
export { templates } from "./templates";
