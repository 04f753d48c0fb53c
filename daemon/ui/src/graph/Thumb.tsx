/** A small picture of a template: its shape, and where people decide. */

import { useEffect, useState } from "react";
import { canvas as canvasOf } from "../hooks";
import type { Canvas } from "../types";
import { type Layout, layout, path } from "./layout";

const WIDE = 96;
const HIGH = 40;

export default function Thumb({ vertical }: { vertical: string }) {
  const [found, setFound] = useState<{ canvas: Canvas; layout: Layout } | null>(null);
  useEffect(() => {
    let dropped = false;
    canvasOf(vertical)
      .then(async (canvas) => {
        const one = await layout(canvas, "RIGHT");
        if (!dropped) setFound({ canvas, layout: one });
      })
      .catch(() => undefined);
    return () => {
      dropped = true;
    };
  }, [vertical]);
  if (found === null) return <div className="thumb" />;
  const { width, height, ways, places } = found.layout;
  return (
    <svg className="thumb" viewBox={`-4 -4 ${width + 8} ${height + 8}`} aria-hidden="true" focusable="false">
      {ways.map((one, index) => (
        <path key={index} className="thumb-way" d={path(one.points)} />
      ))}
      {found.canvas.nodes.map((node) => {
        const at = places.get(node.id) ?? { x: 0, y: 0 };
        const round = node.kind === "end" ? HIGH / 2 : 8;
        return <rect key={node.id} className={`thumb-node ${node.gate ? `thumb-gate tier-edge-${node.tier}` : `thumb-${node.kind}`}`} x={at.x} y={at.y} width={WIDE} height={HIGH} rx={round} />;
      })}
    </svg>
  );
}
