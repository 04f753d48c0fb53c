/**
 * English, the language that all others translate.
 *
 * To add a text, add a key to the file of its page here and in each other language, and show it by
 * `t("key", { value })`; TypeScript reports a language that lacks the key or one of its values.
 * To add a language, copy the folder `de`, translate it, and add it to the two tables in
 * `locale.ts`.
 */

export { common } from "./common";
export { library } from "./library";
