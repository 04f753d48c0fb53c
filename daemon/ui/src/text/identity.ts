/** What a run is about: the value that identifies it, and its amount. */

import { ExactNumber } from "../api/json";
import type { Values } from "../api/types";
import { labels as t } from "./en/labels";
import { formatMoney } from "./formats";
import { currencyOf, humanize, keyInputs } from "./labels";

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

export interface Amount {
  name: string;
  /** As the reader writes it, with all its digits. */
  value: string;
  /** As JSON has it. */
  number: string;
  currency: string | null;
}

/** The first input that is an amount; null without one. */
export function amountOf(inputs: Values): Amount | null {
  for (const [name, value] of Object.entries(inputs)) {
    if (!MONEY.test(name) || !(typeof value === "number" || value instanceof ExactNumber)) continue;
    const number = value instanceof ExactNumber ? value.text : String(value);
    const currency = currencyOf(inputs);
    return { name: humanize(name), value: formatMoney(number, currency), number, currency };
  }
  return null;
}

/** The sums of amounts, one per currency, without an error of rounding. */
export function sumsOf(amounts: Amount[]): string[] {
  const sums = new Map<string | null, bigint>();
  const parts = amounts.map(({ number, currency }) => ({ currency, ...scaled(number) }));
  const digits = Math.max(0, ...parts.map(({ places }) => places));
  for (const { currency, value, places } of parts)
    sums.set(currency, (sums.get(currency) ?? 0n) + value * 10n ** BigInt(digits - places));
  return [...sums].map(([currency, sum]) => formatMoney(decimal(sum, digits), currency));
}

/** A number of JSON as a whole one with so many decimal places: 2.5 and 25e-1 are 25 with one. */
function scaled(number: string): { value: bigint; places: number } {
  const [, sign = "", whole = "0", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  const places = fraction.length - Number(exponent);
  const value = BigInt(`${sign}${whole}${fraction}`);
  return places < 0 ? { value: value * 10n ** BigInt(-places), places: 0 } : { value, places };
}

function decimal(value: bigint, digits: number): string {
  const text = String(value < 0n ? -value : value).padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits);
  const fraction = text.slice(text.length - digits).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
