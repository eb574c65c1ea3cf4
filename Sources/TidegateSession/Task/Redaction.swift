internal import TidegateCore

extension TaskRequest {
    /// The URL as it is published: the one place where it loses what must not be shown.
    func redactedURL(_ redaction: URLRedaction) -> String {
        // The usual case is written once for each URL.
        redaction == URLRedaction() ? self.address.textWithoutQuery : redaction.text(of: self.url)
    }
}

extension TaskResult {
    /// The result as events have it; a caller that waits for the task gets its URL as it was given.
    consuming func redacted(for task: TransferTask) -> TaskResult {
        self.url = task.shared.url
        return self
    }
}
