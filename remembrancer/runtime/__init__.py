"""What every process of the service needs: settings, logs, status mapping, interceptors, server lifecycle, health."""
