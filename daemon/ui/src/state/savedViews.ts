/** Saved views: searches and filters that the service keeps for the reader. */

import { get, remove, send } from "../api/client";
import type { SavedView } from "../api/types";
import { type Loaded, useLoad } from "./useLoad";

export type ViewList = SavedView["list"];

export function useSavedViews(list: ViewList): Loaded<SavedView[]> {
  return useLoad(`views of ${list}`, () =>
    get<SavedView[]>(`/saved-views/?list=${list}&limit=200`),
  );
}

function pathOf(list: ViewList, name: string): string {
  return `/saved-views/${list}/${encodeURIComponent(name)}`;
}

export async function saveView(list: ViewList, name: string, query: string): Promise<void> {
  await send("PUT", pathOf(list, name), { body: { query } });
}

export async function forgetView(list: ViewList, name: string): Promise<void> {
  await remove(pathOf(list, name));
}
