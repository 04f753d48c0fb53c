/** The language of the page: the reader's choice in this browser, or else what the browser asks for. */

import { useSyncExternalStore } from "react";
import type { Plural } from "./messages";

/** Each language by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch", es: "Español" } as const;
export type Language = keyof typeof LANGUAGES;
type Translations = Record<string, Readonly<Record<string, string | Plural>>>;

// English is in the bundle, every other language comes when it is wanted.
const LOADERS: Record<Exclude<Language, "en">, () => Promise<{ texts: Translations }>> = {
  de: () => import("./de"),
  es: () => import("./es"),
};
const STORAGE_KEY = "penstock-language";

let language: Language = "en";
let loaded: Translations = {};
let tag = browserTag("en");
let plurals = new Intl.PluralRules(tag);
const watchers = new Set<() => void>();

export function translations(): Translations {
  return loaded;
}

export function currentLanguage(): Language {
  return language;
}

/** The language with the reader's region, for numbers, dates and money: “de-AT”. */
export function locale(): string {
  return tag;
}

export function pluralCategory(count: number): Intl.LDMLPluralRule {
  return plurals.select(count);
}

export function useLanguage(): Language {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => language,
  );
}

/** Show the page in the language that this browser is to have. Without its file, in English. */
export async function loadLanguage(): Promise<void> {
  await show(storedLanguage() ?? browserLanguage()).catch(() => undefined);
}

/** Change the language, and remember it in this browser. */
export async function setLanguage(next: Language): Promise<void> {
  await show(next);
  try {
    localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // storage is unavailable: the language lasts until the page is closed
  }
}

async function show(next: Language): Promise<void> {
  const texts = next === "en" ? {} : (await LOADERS[next]()).texts;
  loaded = texts;
  language = next;
  tag = browserTag(next);
  plurals = new Intl.PluralRules(tag);
  document.documentElement.lang = next;
  for (const watcher of watchers) watcher();
}

function isLanguage(text: string | null): text is Language {
  return text !== null && Object.hasOwn(LANGUAGES, text);
}

function storedLanguage(): Language | null {
  try {
    const kept = localStorage.getItem(STORAGE_KEY);
    return isLanguage(kept) ? kept : null;
  } catch {
    return null;
  }
}

function baseOf(wanted: string): string {
  return wanted.split("-")[0]?.toLowerCase() ?? "";
}

function browserTags(): readonly string[] {
  return typeof navigator === "undefined" ? [] : (navigator.languages ?? []);
}

function browserLanguage(): Language {
  return browserTags().map(baseOf).find(isLanguage) ?? "en";
}

/** The browser's first tag of a language, which may name a region. */
function browserTag(wanted: Language): string {
  return browserTags().find((one) => baseOf(one) === wanted) ?? wanted;
}
