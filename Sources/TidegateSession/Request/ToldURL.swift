internal import TidegateCore

extension TaskRequest {
    /// The URL as others are told of it: the one place where it loses what must not be shown.
    func told(_ redaction: URLRedaction) -> String {
        // The usual case is written once for each URL.
        redaction == URLRedaction() ? self.address.textWithoutQuery : redaction.text(of: self.url)
    }
}

extension TaskResult {
    /// The result as events tell it; whoever waits for the task has its URL as it was given.
    consuming func told(of task: TransferTask) -> TaskResult {
        self.url = task.board.url
        return self
    }
}
