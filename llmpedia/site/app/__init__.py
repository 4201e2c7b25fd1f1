"""The site as a web application: routes, middleware, state."""
