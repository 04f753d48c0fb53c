/** What a run is about: the value that identifies it, and its amount. */

import type { Values } from "../api/types";
import { labels as t } from "./en/labels";
import { formatMoney } from "./formats";
import { currencyOf, humanize, keyInputs } from "./labels";

const CENTS = 2;
const MONEY = /(^|_)(amount|balance|total|sum|price|value|cost|limit)($|_)/;

/** Whether a value of this name is an amount. */
export function isMoney(name: string): boolean {
  return MONEY.test(name);
}

/** The business key, or else the input that best identifies the run; null without any. */
export function identityOf(
  businessKey: string | null,
  inputs: Values,
): { name: string; value: string } | null {
  if (businessKey !== null) return { name: t("businessKey"), value: businessKey };
  const texts = Object.fromEntries(Object.entries(inputs).filter(([name]) => !MONEY.test(name)));
  const found = keyInputs(texts)[0];
  return found === undefined ? null : { name: humanize(found[0]), value: found[1] };
}

/** The first input that is an amount, as the reader writes numbers; null without one. */
export function amountOf(inputs: Values): { name: string; value: string } | null {
  for (const [name, value] of Object.entries(inputs))
    if (MONEY.test(name) && typeof value === "number")
      return { name: humanize(name), value: formatMoney(value, CENTS, currencyOf(inputs)) };
  return null;
}
