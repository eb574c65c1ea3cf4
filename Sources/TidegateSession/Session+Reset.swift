internal import TidegateCore

extension Session {
    /// Forgets what the session has learned from servers, so that what follows starts as in a new session, as
    /// URLSession's `reset` does.
    ///
    /// Removes the cookies of ``SessionConfiguration/cookies`` and the responses of ``SessionConfiguration/validators``,
    /// also for other sessions that share them, closes idle connections, and forgets cached addresses. Tasks go on: an
    /// attempt under way keeps its connection, which nobody uses after it, and the credentials that a hook gave it;
    /// nothing that follows uses either. TLS sessions are never kept: each connection has a handshake of its own.
    ///
    /// Retry budgets and circuits stay. The event `session.reset` follows; the call returns when the files are gone.
    public func reset() async {
        await withCheckedContinuation { continuation in
            let isSent = self.dependencies.mailbox.send(.reset(done: { continuation.resume() }))
            guard !isSent else { return }
            // The session is over, but its jar and its store may be those of others, too.
            self.configuration.cookies?.removeAll()
            self.configuration.validators?.removeAll()
            continuation.resume()
        }
    }
}
