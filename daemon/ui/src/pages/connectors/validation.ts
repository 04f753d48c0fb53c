/** What the service refuses of a connector, as far as the page can tell before anything is asked or sent. */

import { ExactNumber, parseNumber } from "../../api/json";
import type { Connector } from "../../api/types";
import type { ConnectorDraft } from "./draft";

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const DOTTED_KEY = /^[^.\s]+(\.[^.\s]+)*$/;
const TIMEOUT_S_MAX = 300;
const RETRIES_MAX = 10;

/** The errors of a draft, by JSON pointer. */
export function validateDraft(draft: ConnectorDraft, stored: Connector | null): Map<string, string> {
  const found: [string, string | null][] = [
    ["/base_url", urlError(draft.base_url.trim())],
    ["/path", pathError(draft.path.trim())],
    ["/auth_token", secretError(draft, stored)],
    ["/auth_header", draft.auth_type === "header" && !HEADER_NAME.test(draft.auth_header) ? "names the header that the secret goes in" : null],
    ["/query_map", mapError(draft.query)],
    ["/body_map", mapError(draft.body)],
    ["/timeout_s", numberError(draft.timeout, (value) => value > 0 && value <= TIMEOUT_S_MAX, `is a number of seconds, at most ${TIMEOUT_S_MAX}`)],
    ["/retries", numberError(draft.retries, (value) => Number.isInteger(value) && value >= 0 && value <= RETRIES_MAX, `is a whole number from 0 to ${RETRIES_MAX}`)],
  ];
  return new Map(found.filter((one): one is [string, string] => one[1] !== null));
}

/** Whether the stored secret goes along with a draft: it has none of its own, and calls the origin that the stored one is for. */
export function usesStoredSecret(draft: ConnectorDraft, stored: Connector | null): boolean {
  return draft.auth_type !== "none" && draft.auth_token === "" && stored !== null && stored.auth_token_set && origin(stored.base_url) === origin(draft.base_url.trim());
}

function origin(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function urlError(url: string): string | null {
  if (url === "") return "is needed";
  if (/\s/.test(url)) return "holds white space";
  if (!/^https?:\/\/[^/?#]/i.test(url) || !URL.canParse(url)) return "is no http or https URL with a host";
  if (/^https?:\/\/[^/?#]*@/i.test(url)) return "names a user; credentials do not belong into a URL";
  return url.includes("#") ? "has a fragment, which is never sent" : null;
}

function pathError(path: string): string | null {
  if (/[{}]/.test(path)) return "has a placeholder; a path is sent as it stands";
  return /[#\s\u0000-\u001f]/.test(path) ? "holds a fragment or white space" : null;
}

function secretError(draft: ConnectorDraft, stored: Connector | null): string | null {
  if (draft.auth_type === "none" || usesStoredSecret(draft, stored)) return null;
  if (draft.auth_token === "") return stored?.auth_token_set === true ? "is needed again, since the address is another one" : "is needed";
  return draft.auth_type === "basic" && !draft.auth_token.includes(":") ? "is of the form user:password" : null;
}

function mapError(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const wrong = lines.find((line) => {
    const [name = "", ...rest] = line.split("=");
    return name.trim() === "" || !DOTTED_KEY.test(rest.join("=").trim());
  });
  return wrong === undefined ? null : `has a line that is not of the form name = key: ${wrong.trim().slice(0, 60)}`;
}

function numberError(text: string, fits: (value: number) => boolean, otherwise: string): string | null {
  const value = parseNumber(text);
  return value === undefined || value instanceof ExactNumber || !fits(value) ? otherwise : null;
}
