internal import Logging
internal import Tidegate

extension ScheduledTask {
    /// The request of one run; the headers file is read now, so that a rotated secret is sent.
    ///
    /// - Throws: ``TextError`` with the file or the value that cannot be used.
    func request(under transfers: Configuration.Transfers) throws(TextError) -> TaskRequest {
        var submission = self.submission
        submission.method = submission.method ?? (submission.bodyFile == nil ? "GET" : "POST")
        submission.headers = (submission.headers ?? []) + (try self.linesOfHeadersFile())
        var request = try submission.request()
        // The next run goes on with what an interrupted one has downloaded.
        if case .file(let path, let permissions, _) = request.destination {
            request.destination = .file(path, permissions: permissions, continues: true)
        }
        request.options.attemptTimeout = self.timeout?.duration
        let retry = self.retryPolicy(under: transfers)
        var gate = transfers.session.gate
        gate.require = request.options.gate?.require ?? gate.require
        try Result { () throws(ConfigurationValueError) in
            try retry.validate()
            try gate.validate()
        }.mapError { TextError($0.description) }.get()
        request.options.retry = retry
        request.options.gate = gate
        return request
    }

    private func linesOfHeadersFile() throws(TextError) -> [String] {
        guard let file = self.headersFile else { return [] }
        let text = try Result { try TextFile.read(file, atMost: 1 << 16) }
            .mapError { TextError("\(file): \($0)") }.get()
        let lines = text.split(whereSeparator: \.isNewline)
        return lines.filter { !$0.allSatisfy(\.isWhitespace) && $0.first != "#" }.map(String.init)
    }

    // The task's timeout also bounds all its attempts together. Time without a path does not count: such a run is held,
    // and the next one is skipped.
    private func retryPolicy(under transfers: Configuration.Transfers) -> RetryPolicy {
        var retry = self.retry.merged(withDefaults: transfers.retry)
        if let timeout = self.timeout?.duration {
            retry.maxElapsed = DurationText(min(timeout, retry.maxElapsed.map { $0.duration ?? timeout } ?? timeout))
        }
        return retry.policy()
    }

    /// One run, to its end; a cancelled download keeps its partial file, which a later run resumes.
    func run(in session: Session, under policies: TransferPolicies, _ logger: Logger) async {
        let request: TaskRequest
        do {
            request = try self.request(under: policies.transfers)
        } catch {
            logger.error(
                "scheduled run could not start", metadata: ["name": "\(self.name)", "error": "\(error)"])
            return
        }
        let handle = session.makeTask(request)
        handle.resume()
        await withTaskCancellationHandler {
            _ = await handle.result()
        } onCancel: {
            handle.cancel()
        }
    }
}
