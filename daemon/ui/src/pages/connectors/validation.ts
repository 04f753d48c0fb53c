/** Validation of a connector before it is saved or tested, as far as the page can check it. */

import { ExactNumber, parseNumber } from "../../api/json";
import type { Connector } from "../../api/types";
import { constantOf, type ConnectorDraft } from "./draft";
import { numberJson } from "../../text/formats";
import { common } from "../../text/en/common";
import { connectors as t } from "../../text/en/connectors";

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const DOTTED_KEY = /^[^.\s]+(\.[^.\s]+)*$/;
const PLACEHOLDER = /\{[^{}.\s]+(\.[^{}.\s]+)*\}/g;
/** What a stored client secret is used for: with another of these it has to be entered again. */
const CLIENT = ["token_url", "client_id", "scope", "audience"] as const;
const CALLBACK_S_MAX = 31_536_000;
const TIMEOUT_S_MAX = 300;
const RETRIES_MAX = 10;

/** Errors of a draft by JSON pointer. */
export function validateDraft(
  draft: ConnectorDraft,
  stored: Connector | null,
): Map<string, string> {
  const found: [string, string | null][] = [
    ["/base_url", urlError(draft.base_url.trim())],
    ["/path", pathError(draft.path.trim())],
    ["/auth_token", secretError(draft, stored)],
    [
      "/auth_header",
      draft.auth_type === "header" && !HEADER_NAME.test(draft.auth_header)
        ? t("mustBeHeader")
        : null,
    ],
    ["/token_url", draft.auth_type === "oauth2" ? urlError(draft.token_url.trim()) : null],
    [
      "/client_id",
      draft.auth_type === "oauth2" && draft.client_id.trim() === "" ? common("required") : null,
    ],
    ["/headers", lineError(draft.headers, (value) => value !== "")],
    ["/response_map", lineError(draft.response, (value) => value !== "")],
    [
      "/callback_timeout_s",
      numberError(
        draft.callback_timeout,
        (value) => value >= 1 && value <= CALLBACK_S_MAX,
        t("mustBeSecondsYear"),
      ),
    ],
    ["/query_map", mapError(draft.query)],
    ["/body_map", mapError(draft.body)],
    [
      "/timeout_s",
      numberError(
        draft.timeout,
        (value) => value > 0 && value <= TIMEOUT_S_MAX,
        t("mustBeSeconds", { most: TIMEOUT_S_MAX }),
      ),
    ],
    [
      "/retries",
      numberError(
        draft.retries,
        (value) => Number.isInteger(value) && value >= 0 && value <= RETRIES_MAX,
        t("mustBeRetries", { most: RETRIES_MAX }),
      ),
    ],
  ];
  return new Map(found.filter((error): error is [string, string] => error[1] !== null));
}

/**
 * Whether the stored secret is used: the draft has none, and keeps what the stored one is for.
 */
export function usesStoredSecret(draft: ConnectorDraft, stored: Connector | null): boolean {
  return (
    draft.auth_type !== "none" &&
    draft.auth_token === "" &&
    stored !== null &&
    stored.auth_token_set &&
    origin(stored.base_url) === origin(draft.base_url.trim()) &&
    CLIENT.every(
      (name) => (stored[name] ?? "") === (draft.auth_type === "oauth2" ? draft[name].trim() : ""),
    ) &&
    (stored.auth_type === "mtls") === (draft.auth_type === "mtls")
  );
}

function origin(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function urlError(url: string): string | null {
  if (url === "") return common("required");
  if (/\s/.test(url)) return t("noWhiteSpace");
  if (!/^https?:\/\/[^/?#]/i.test(url) || !URL.canParse(url)) return t("mustBeUrl");
  if (/^https?:\/\/[^/?#]*@/i.test(url)) return t("noCredentials");
  return url.includes("#") ? t("noFragment") : null;
}

function pathError(path: string): string | null {
  if (/[{}]/.test(path.replaceAll(PLACEHOLDER, "")))
    return t("noBracket", { example: "{inputs.member_id}" });
  return /[#\s\u0000-\u001f]/.test(path) ? t("noFragmentOrSpace") : null;
}

function secretError(draft: ConnectorDraft, stored: Connector | null): string | null {
  if (draft.auth_type === "none" || usesStoredSecret(draft, stored)) return null;
  if (draft.auth_token === "")
    return stored?.auth_token_set === true ? t("requiredAgain") : common("required");
  return draft.auth_type === "basic" && !draft.auth_token.includes(":")
    ? t("mustBeUserPassword")
    : null;
}

function mapError(text: string): string | null {
  return lineError(text, (value) => DOTTED_KEY.test(value) || constantOf(value) !== null);
}

function lineError(text: string, fits: (value: string) => boolean): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const wrong = lines.find((line) => {
    const [name = "", ...rest] = line.split("=");
    return name.trim() === "" || !fits(rest.join("=").trim());
  });
  return wrong === undefined ? null : t("mustBeLines", { line: wrong.trim().slice(0, 60) });
}

function numberError(
  text: string,
  fits: (value: number) => boolean,
  otherwise: string,
): string | null {
  const value = parseNumber(numberJson(text));
  return value === undefined || value instanceof ExactNumber || !fits(value) ? otherwise : null;
}
