/** The dashboard, or the rows that one of its numbers counts; loaded when it is opened. */

import "../../styles/dashboard.css";
import { CountedPage } from "./CountedPage";
import { DashboardPage } from "./DashboardPage";

export default function Dashboard({ list }: { list: string | undefined }) {
  return list === undefined ? <DashboardPage /> : <CountedPage key={list} list={list} />;
}
