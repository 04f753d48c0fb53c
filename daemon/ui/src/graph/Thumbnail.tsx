/** A thumbnail of a template's graph. */

import { useEffect, useState } from "react";
import { getCanvas as canvasOf } from "../api/resources";
import type { Canvas } from "../api/types";
import { type GraphLayout, layout, roundedPath } from "./layout";

const NODE_WIDTH = 96;
const NODE_HEIGHT = 40;

export default function Thumbnail({ vertical }: { vertical: string }) {
  const [found, setFound] = useState<{ canvas: Canvas; layout: GraphLayout } | null>(null);
  useEffect(() => {
    let dropped = false;
    canvasOf(vertical)
      .then(async (canvas) => {
        const result = await layout(canvas, "RIGHT");
        if (!dropped) setFound({ canvas, layout: result });
      })
      .catch(() => undefined);
    return () => {
      dropped = true;
    };
  }, [vertical]);
  if (found === null) return <div className="thumbnail" />;
  const { width, height, edges, positions } = found.layout;
  return (
    <svg
      className="thumbnail"
      viewBox={`-4 -4 ${width + 8} ${height + 8}`}
      aria-hidden="true"
      focusable="false"
    >
      {edges.map((edge, index) => (
        <path key={index} className="thumbnail-edge" d={roundedPath(edge.points)} />
      ))}
      {found.canvas.nodes.map((node) => {
        const at = positions.get(node.id) ?? { x: 0, y: 0 };
        const round = node.kind === "end" ? NODE_HEIGHT / 2 : 8;
        return (
          <rect
            key={node.id}
            className={`thumbnail-node ${node.gate ? `thumbnail-gate tier-edge-${node.tier}` : `thumbnail-${node.kind}`}`}
            x={at.x}
            y={at.y}
            width={NODE_WIDTH}
            height={NODE_HEIGHT}
            rx={round}
          />
        );
      })}
    </svg>
  );
}
