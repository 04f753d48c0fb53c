"""The API on one screen."""

from __future__ import annotations

from daemon.web.resources import accounts, audit, connectors, events, health, runs, sessions, templates, webhooks

# Those under one prefix are tried in this order, so what is asked for most often stands first.
ROUTES = (
    ("POST", "/auth/register", accounts.register),
    ("POST", "/auth/login", accounts.log_in),
    ("POST", "/auth/logout", accounts.log_out),
    ("GET", "/auth/me", accounts.get_account),
    ("POST", "/auth/password", accounts.change_password),
    ("POST", "/auth/refresh", sessions.refresh_session),
    ("GET", "/auth/sessions/", sessions.list_sessions),
    ("DELETE", "/auth/sessions/", sessions.end_other_sessions),
    ("DELETE", "/auth/sessions/{session_id}", sessions.end_session),
    ("GET", "/process-templates/", templates.list_templates),
    ("GET", "/process-templates/{vertical}", templates.get_template),
    ("GET", "/process-templates/{vertical}/canvas", templates.get_canvas),
    ("GET", "/process-runs/{run_id}", runs.get_run),
    ("POST", "/process-runs/{run_id}/resume", runs.resume_run),
    ("POST", "/process-runs/", runs.start_run),
    ("GET", "/process-runs/", runs.list_runs),
    ("POST", "/process-runs/{run_id}/cancel", runs.cancel_run),
    ("POST", "/process-runs/{run_id}/retry", runs.retry_run),
    ("GET", "/process-runs/{run_id}/events", events.list_run_events),
    ("GET", "/process-runs/{run_id}/audit", audit.get_run_audit),
    ("GET", "/audit/checkpoints", audit.list_checkpoints),
    ("GET", "/audit/keys", audit.get_audit_keys),
    ("GET", "/audit/export", audit.export_audit),
    ("GET", "/audit/log", audit.list_audit_log),
    ("GET", "/connectors/", connectors.list_connectors),
    ("GET", "/connectors/{tool_id}", connectors.get_connector),
    ("PUT", "/connectors/{tool_id}", connectors.put_connector),
    ("DELETE", "/connectors/{tool_id}", connectors.delete_connector),
    ("GET", "/connectors/{tool_id}/changes", connectors.list_connector_changes),
    ("POST", "/connectors/{tool_id}/test", connectors.test_connector),
    ("GET", "/events/", events.list_events),
    ("POST", "/webhooks/", webhooks.create_webhook),
    ("GET", "/webhooks/", webhooks.list_webhooks),
    ("GET", "/webhooks/{webhook_id}", webhooks.get_webhook),
    ("PUT", "/webhooks/{webhook_id}", webhooks.put_webhook),
    ("DELETE", "/webhooks/{webhook_id}", webhooks.delete_webhook),
    ("POST", "/webhooks/{webhook_id}/test", webhooks.test_webhook),
    ("GET", "/webhooks/{webhook_id}/deliveries", webhooks.list_deliveries),
    ("POST", "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", webhooks.redeliver),
    ("GET", "/health", health.get_health),
)
