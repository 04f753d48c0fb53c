/** A QR code, drawn here: no service learns what it holds. */

import qrcode from "qrcode-generator";
import { useMemo } from "react";

/** Modules of quiet around the code, as the standard asks for. */
const QUIET = 4;

export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => drawn(text), [text]);
  const whole = size + 2 * QUIET;
  return (
    <svg className="qr-code" viewBox={`0 0 ${whole} ${whole}`} role="img" aria-label={label}>
      <rect width={whole} height={whole} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}

function drawn(text: string): { size: number; path: string } {
  const code = qrcode(0, "M");
  code.addData(text);
  code.make();
  const size = code.getModuleCount();
  const places = Array.from({ length: size }, (_, place) => place);
  const dark = places.flatMap((row) =>
    places
      .filter((column) => code.isDark(row, column))
      .map((column) => `M${column + QUIET},${row + QUIET}h1v1h-1z`),
  );
  return { size, path: dark.join("") };
}
