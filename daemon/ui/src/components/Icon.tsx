/** Icons. Each stands beside a word and is hidden from screen readers. */

const PATHS = {
  inbox: "M4 13l2.500-8h11L20 13v6H4zM4 13h5l1 2.500h4l1-2.500h5",
  runs: "M6 4v16M6 7h7M6 17h7M15 4.500h4v5h-4zM15 14.500h4v5h-4z",
  templates: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  connectors: "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
  dashboard: "M4 20h16M7 20v-6M12 20V5M17 20v-9",
  audit: "M12 3l7 3v5c0 4.800-2.900 8-7 10-4.100-2-7-5.200-7-10V6zM9 12l2.200 2.200L15.200 10",
  actions: "M7 9h10v9H7zM12 9V5M10 12.500v1.500M14 12.500v1.500M4 12v3M20 12v3",
  done: "M5 12.500l4.500 4.500L19 7.500",
  denied: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.800 5.800l12.400 12.400",
  failed: "M6 6l12 12M18 6L6 18",
  cancelled: "M6.500 6.500h11v11h-11z",
  parked: "M9 5v14M15 5v14",
  calling: "M8 5l11 7-11 7z",
  judging: "M12 3v18M8 21h8M4 7h16M7 7l-3 6h6zM17 7l-3 6h6z",
  ready: "M8 5l11 7-11 7z",
  waiting: "M7 3h10M7 21h10M8 3c0 5 8 5 8 9s-8 4-8 9M16 3c0 5-8 5-8 9s8 4 8 9",
  skipped: "M5 12h2M11 12h2M17 12h2",
  pending: "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14z",
  task: "M12 8.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM12 2.500v3M12 18.500v3M2.500 12h3M18.500 12h3M5.300 5.300l2.100 2.100M16.600 16.600l2.100 2.100M18.700 5.300l-2.100 2.100M7.400 16.600l-2.100 2.100",
  gate: "M12 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM5 20c.600-4 3.400-6 7-6s6.400 2 7 6",
  gateway: "M12 3l9 9-9 9-9-9z",
  end: "M6 21V4M6 4h11l-2.500 4 2.500 4H6",
  live: "M13 2L5 13.500h6L10 22l9-12.500h-6z",
  shadow:
    "M5 20V11a7 7 0 0 1 14 0v9l-2.300-1.600L14.300 20 12 18.400 9.700 20l-2.400-1.600zM9.500 10.500v1M14.500 10.500v1",
  handed: "M3 12h12M10 7l5 5-5 5M20 5v14",
  low: "M5 15l7-6 7 6",
  medium: "M5 12h14",
  high: "M12 4l9 16H3zM12 10v4.500M12 17v.500",
  critical: "M8 3h8l5 5v8l-5 5H8l-5-5V8zM12 7.500v5.500M12 16v.500",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500L20 20",
  plus: "M12 5v14M5 12h14",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M19.100 4.900l-1.400 1.400M6.300 17.700l-1.400 1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  out: "M14 4H6v16h8M10 12h10M16.500 8.500L20 12l-3.500 3.500",
  back: "M19 12H5M11 6l-6 6 6 6",
  forward: "M5 12h14M13 6l6 6-6 6",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5M12 7.500v.500",
  close: "M6 6l12 12M18 6L6 18",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.500 2",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      className={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The logo: a gate that holds back a flow. */
export function Brand({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" className="brand-back" />
      <path d="M8 7v18M24 7v18M8 11h16" className="brand-line" />
      <rect x="11.5" y="14" width="9" height="6" rx="1" className="brand-gate" />
    </svg>
  );
}
