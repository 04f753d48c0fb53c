import type { common as english } from "../en/common";
import type { Translation } from "../messages";

export const common: Translation<typeof english> = {
  language: "Sprache",
};
