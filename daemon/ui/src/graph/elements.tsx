/** The steps of a graph, each a button, and the connections between them. */

import {
  BaseEdge,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  type Node,
  type NodeProps,
  Position,
} from "@xyflow/react";
import type { GraphNode, Mode } from "../api/types";
import { Icon } from "../components/Icon";
import { Label } from "../components/Text";
import { common } from "../text/en/common";
import { stateLabel, type StepState, tierLabel } from "../text/labels";
import { EdgeTools, type GraphEditing } from "./editing";
import { roundedPath, type RoutedEdge } from "./layout";

export type StepMark = "added" | "removed" | "changed";

export type StepData = {
  node: GraphNode;
  state: StepState | null;
  mode: Mode | null;
  times: number;
  chosen: boolean;
  mark: StepMark | null;
  findings: string[];
  onPath: boolean;
  connectable: boolean;
  onChoose: (id: string, byKeys: boolean) => void;
};
export type EdgeData = {
  way: RoutedEdge;
  state: "taken" | "not-taken" | "plain" | "path";
  editing: GraphEditing | undefined;
};

function nodeIcon(node: GraphNode) {
  if (node.kind === "wait") return "clock";
  return node.kind === "task" && node.gate ? "gate" : node.kind;
}

function StepNode({ data }: NodeProps<Node<StepData>>) {
  const { node, state, mode, times, chosen, mark, findings, onPath, connectable, onChoose } = data;
  const shape = node.kind === "task" && node.gate ? "guarded" : node.kind;
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={connectable} />
      <button
        type="button"
        className={`node shape-${shape} tier-edge-${node.tier} ${state === null ? "" : `state-${state}`} ${mode === null ? "" : `mode-${mode}`} ${mark === null ? "" : `mark-${mark}`} ${findings.length === 0 ? "" : "has-findings"} ${onPath ? "on-path" : ""}`}
        aria-pressed={chosen}
        onClick={(event) => onChoose(node.id, event.detail === 0)}
      >
        <span className="node-kind">
          <Icon name={nodeIcon(node)} size={15} />
          {node.gate && (
            <span className={`node-tier tier-${node.tier}`}>
              {tierLabel(node.tier).toLowerCase()}
            </span>
          )}
          {mode !== null && (
            <span className={`node-mode mode-${mode}`}>
              <Icon name={mode} size={12} /> {common(`onGraph.${mode}`)}
            </span>
          )}
          {mark !== null && <span className="node-mark">{common(`mark.${mark}`)}</span>}
          {findings.length > 0 && (
            <span className="node-findings" title={findings.join("\n")}>
              <Icon name="high" size={13} /> {common("findings", { count: findings.length })}
            </span>
          )}
          {onPath && <span className="visually-hidden">{common("onGraph.path")}</span>}
          {state !== null && (
            <span className="node-state">
              {times > 1 && <>×{times} </>}
              <Icon name={state} size={15} />
              <span className="visually-hidden">{stateLabel(state)}</span>
            </span>
          )}
        </span>
        <span className="node-label">
          <Label text={node.label} maxLength={90} />
        </span>
      </button>
      <Handle type="source" position={Position.Bottom} isConnectable={connectable} />
    </>
  );
}

function RoutedEdgeLine({ id, data }: EdgeProps<Edge<EdgeData>>) {
  if (data === undefined) return null;
  const { way: edge, state, editing } = data;
  const end = edge.points.at(-1);
  const before = edge.points.at(-2);
  const turned =
    end === undefined || before === undefined
      ? 0
      : (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI;
  return (
    <g className={`graph-edge graph-edge-${state}`}>
      <BaseEdge id={id} path={roundedPath(edge.points)} />
      {end !== undefined && (
        <path
          className="graph-arrow"
          d="M0 0L-9 -4.500L-9 4.500Z"
          transform={`translate(${end.x} ${end.y}) rotate(${turned})`}
        />
      )}
      {edge.label !== null && (
        <EdgeLabelRenderer>
          <span
            className={`graph-edge-label graph-edge-${state}`}
            style={{
              transform: `translate(${edge.label.x}px, ${edge.label.y}px)`,
              width: edge.label.width,
            }}
          >
            <Label text={edge.name} />
          </span>
        </EdgeLabelRenderer>
      )}
      {editing !== undefined && (
        <EdgeLabelRenderer>
          <EdgeTools edge={edge} editing={editing} />
        </EdgeLabelRenderer>
      )}
    </g>
  );
}

export const NODE_TYPES = { step: StepNode };
export const EDGE_TYPES = { way: RoutedEdgeLine };
