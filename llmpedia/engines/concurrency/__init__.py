"""One cap on the requests in flight, over all processes of a job: the limiter, and its clients."""
