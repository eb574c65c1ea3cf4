internal import TidegateCore

extension TransferTask {
    /// The attempts of the task so far, what follows redirects included: the newest 32.
    ///
    /// Empty unless the session's ``SessionConfiguration/recordsExchanges`` is set.
    public var exchanges: [Exchange] { self.shared.exchanges?.exchanges ?? [] }

    /// The task's request as a command of curl(1); see ``CurlCommand/init(_:showingSecrets:)``.
    public func curlCommand(showingSecrets: Bool = false) -> CurlCommand {
        CurlCommand(self.request, showingSecrets: showingSecrets)
    }

    /// The task's ``exchanges`` as HAR 1.2, with the request's body and with ``body()``.
    public func archive(
        showingSecrets: Bool = false, creator: (name: String, version: String) = ("tidegate", "")
    ) -> HTTPArchive {
        self.archive(showingSecrets: showingSecrets, creator: creator, keptBody: nil)
    }

    /// As the other one, with what somebody else keeps of the response's body.
    package func archive(
        showingSecrets: Bool, creator: (name: String, version: String), keptBody: [UInt8]?
    ) -> HTTPArchive {
        let own = self.body()
        return HTTPArchive(
            self.exchanges, .init(request: self.request.body, response: own.isEmpty ? keptBody : own),
            SecretRedaction(isOn: !showingSecrets), creator)
    }
}
