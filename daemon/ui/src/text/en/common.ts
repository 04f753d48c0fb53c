/** Texts that pages share. */

import { messages } from "../messages";

export const common = messages("common", {
  language: "Language",
});
