/** When an open gate is due: by its own deadline, or by a clock of its run, if that is nearer. */

export interface Dues {
  due_at: string | null;
  clock_due_at?: string | null;
}

export interface Due {
  at: string;
  by: "deadline" | "clock";
}

export function nearerDue({ due_at, clock_due_at: clock = null }: Dues): Due | null {
  if (clock !== null && (due_at === null || Date.parse(clock) < Date.parse(due_at)))
    return { at: clock, by: "clock" };
  return due_at === null ? null : { at: due_at, by: "deadline" };
}
