/** Notifications of the browser about gates, where the reader has asked this browser for them. */

import { useSyncExternalStore } from "react";
import { keepStreamWhenHidden } from "../api/eventStream";

const STORAGE_KEY = "penstock-notifications";
export type NotificationState = "unavailable" | "blocked" | "off" | "on";

const watchers = new Set<() => void>();
let wanted = read();
keepStreamWhenHidden(isOn());

function state(): NotificationState {
  if (!("Notification" in window)) return "unavailable";
  if (Notification.permission === "denied") return "blocked";
  return isOn() ? "on" : "off";
}

/** Whether the reader wants notifications comes first: the browser takes long to say its own. */
function isOn(): boolean {
  return wanted && "Notification" in window && Notification.permission === "granted";
}

export function useNotifications(): NotificationState {
  return useSyncExternalStore((changed) => {
    watchers.add(changed);
    return () => watchers.delete(changed);
  }, state);
}

/** Only upon a click: browsers refuse pages that ask on their own. */
export async function turnNotifications(on: boolean): Promise<void> {
  if (on && "Notification" in window && Notification.permission === "default")
    await Notification.requestPermission();
  wanted = on;
  try {
    localStorage.setItem(STORAGE_KEY, on ? "on" : "off");
  } catch {
    // storage is unavailable: it counts until the tab is closed
  }
  keepStreamWhenHidden(isOn());
  for (const watcher of watchers) watcher();
}

/** Say that gates wait, unless the reader looks at the page; a click leads there. */
export function notify(title: string, body: string, address: string): void {
  if (!isOn() || document.visibilityState === "visible") return;
  const shown = new Notification(title, { body, tag: "penstock-gates" });
  shown.onclick = () => {
    window.focus();
    location.hash = address;
    shown.close();
  };
}

function read(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) === "on";
  } catch {
    return false;
  }
}
