internal import TidegateCore

extension JournalError {
    static let ending = JournalError(.closed, "the session is ending: the next one goes on with its tasks as they are")
}

extension TaskError {
    init(_ error: JournalError) {
        let reason: TaskFailure =
            switch error.reason {
            case .diskFull: .diskFull
            case .disk, .closed: .internal
            }
        self.init(reason: reason, underlying: error.description)
    }
}
