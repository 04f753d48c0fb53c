/** A step as people read it: by the title of its process. */

import { humanize } from "../../text/labels";
import { plainText } from "../../components/Text";
import { autonomy as t } from "../../text/en/autonomy";

export function stepName(titles: Map<string, string>, vertical: string, step: string): string {
  const process = titles.get(vertical) ?? humanize(vertical);
  return t("stepName", { process: plainText(process, 80), step: plainText(humanize(step), 80) });
}
