import { defineConfig } from "vite";

// `npm run dev` serves the page with live reload and hands every other request to a running daemon.
const daemon = process.env.MNISTD_URL ?? "http://127.0.0.1:8906";

export default defineConfig({
  // Relative, so that the page also works below a path prefix of a reverse proxy.
  base: "./",
  build: {
    target: "es2022",
    // Nothing inline and no data: URL, so that the policy `default-src 'self'` holds.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/readyz", "/healthz", "/predict", "/metrics", "/openapi.json"].map((path) => [path, daemon]),
    ),
  },
});
