import type { library as english } from "../en/library";
import type { Translation } from "../messages";

export const library: Translation<typeof english> = {
  all: "Todos los paquetes",
  close: "Cerrar",
  enforcedBy: "Lo aplican {steps}",
  gates: { one: "{count} decisión", other: "{count} decisiones" },
  gatesAndClocks: "Aprobaciones y plazos",
  graph: "Grafo del proceso",
  loading: "Cargando el proceso",
  notEnforced: "No se aplica: {why}",
  pack: "Paquete",
  "pack.banking": "Banca y blanqueo de capitales",
  "pack.health": "Seguro de salud y proveedores",
  "pack.insurance": "Seguros",
  "pack.lending": "Préstamos y cobros",
  "pack.operations": "Ingeniería y seguridad",
  "pack.payments": "Pagos y disputas",
  "pack.people": "Personas y accesos",
  "pack.public": "Sector público y privacidad",
  preview: "Vista previa",
  previewOf: "Vista previa: {title}",
  sources: "Fuentes",
  steps: { one: "{count} paso", other: "{count} pasos" },
  tools: "Herramientas",
  wait: "Espera",
  within: "en {time}",
};
