/**
 * Texts of the page in the reader's language. A message names its values in braces: “{count} of
 * {all} shown”. One that depends on a number has a form for each plural category of its language
 * and takes the number as `count`.
 */

import { createElement, Fragment, type ReactElement } from "react";
import { formatNumber } from "./formats";
import { pluralCategory, translations } from "./locale";

/** Forms by plural category; languages without a category use `other`. */
export type Plural = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };
export type Messages = Record<string, string | Plural>;
export type Value = string | number | ReactElement;

type Names<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Forms<M> = M extends string ? M : M extends Plural ? Extract<M[keyof M], string> : never;
type Values<M> = Record<Names<Forms<M>>, Value> & (M extends Plural ? { count: number } : unknown);
type Result<V> = [V[keyof V]] extends [string | number] ? string : string | ReactElement;

type Rest<M, V> = [Names<Forms<M>>] extends [never]
  ? M extends Plural
    ? [values: V]
    : []
  : [values: V];

/** A text by its key: a string, or a node where elements are among its values. */
export interface Translate<E extends Messages = Messages> {
  <K extends keyof E & string, V extends Values<E[K]>>(key: K, ...values: Rest<E[K], V>): Result<V>;
  /** The text of a code to which the contract may add; `otherwise` for one without a text. */
  code: (prefix: string, code: string, otherwise?: string) => string;
  english: E;
}

type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  one: infer Every,
) => void
  ? Every
  : never;
type Pattern<Name extends string> = Name extends string ? `${string}{${Name}}${string}` : never;
type Naming<T extends string> = [Names<T>] extends [never] ? string : All<Pattern<Names<T>>>;
type PluralOf<E extends Plural> = Omit<Plural, "other"> & { other: Naming<E["other"]> };

/** What another language has to say: every key of English, with every value that it names. */
export type Translation<T extends { english: Messages }> = {
  [K in keyof T["english"]]: T["english"][K] extends string
    ? Naming<T["english"][K]>
    : T["english"][K] extends Plural
      ? PluralOf<T["english"][K]>
      : never;
};

/** All pages of another language. */
export type Texts<English> = {
  [P in keyof English]: English[P] extends { english: Messages } ? Translation<English[P]> : never;
};

/** The English texts of a page, and the way to all others. */
export function messages<const E extends Messages>(page: string, english: E): Translate<E> {
  const find = (key: string): string | Plural | undefined => {
    const translated = translations()[page];
    return translated !== undefined && Object.hasOwn(translated, key)
      ? translated[key]
      : Object.hasOwn(english, key)
        ? english[key]
        : undefined;
  };
  const translate = (key: string, values: Record<string, Value> = {}) =>
    fill(form(find(key) ?? key, values), values);
  const code = (prefix: string, word: string, otherwise = word) => {
    const found = find(`${prefix}.${word}`);
    return typeof found === "string" ? found : otherwise;
  };
  return Object.assign(translate, { code, english }) as unknown as Translate<E>;
}

function form(message: string | Plural, values: Record<string, Value>): string {
  if (typeof message === "string") return message;
  const { count } = values;
  return (typeof count === "number" ? message[pluralCategory(count)] : undefined) ?? message.other;
}

/** Puts the values into their places; numbers as the reader writes them. */
function fill(message: string, values: Record<string, Value>): string | ReactElement {
  const parts = message.split(/\{(\w+)\}/).map((part, at) => {
    const value = at % 2 === 0 ? part : values[part];
    return typeof value === "number" ? formatNumber(value) : (value ?? "");
  });
  return parts.some((part) => typeof part === "object")
    ? createElement(Fragment, null, ...parts)
    : parts.join("");
}
