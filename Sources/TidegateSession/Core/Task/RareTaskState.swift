internal import TidegateCore
internal import TidegateTransfer

/// What only few tasks have; made when the first of it is needed.
final class RareTaskState {
    /// What a hook is being asked, and what depends on it.
    enum Question {
        /// Whether a redirect is followed; the answer that redirects, and where it leads.
        case redirect(TaskResponse, RedirectRule.Hop)
        /// Who asks; the answer that wants to know.
        case identity(AuthenticationChallenge, status: Int)
        /// What becomes of an answer; its attempt, and the attempt's end where that has come already.
        case disposition(AttemptID, end: AttemptOutcome?)
        /// What is sent this time; the attempt and its addresses.
        case newBody(AttemptID, [IPAddress])
    }

    /// Where the body goes instead of where the request says.
    var destination: Destination?
    var question: Question?
    /// Counts questions, so that an answer to an older one is known.
    var lastQuestion = 0
    var asking: Task<Void, Never>?

    var authorizations: [Authorization] = []
    var askedRealms: Set<String> = []
    var renewals = 0

    /// The stream that takes the place of the request's own.
    var bodyStream: UploadStream?
    /// True once it is known where the body goes.
    var isDisposed = false
    /// True where an unfinished download is kept for whoever cancelled it.
    var keepsPart = false
    var resumeData: ResumeData?
    /// Sums a body up that is gone once it is delivered.
    var digest: BodyDigest?
    /// What came of the current attempt's body and has not been told, and where in the body it begins.
    var bodyHearing: BodyObserver?
    var heardOffset: Int64 = 0
    /// True once a handler elsewhere has returned, or is not waited for any more.
    var isHeard = false
}

extension TaskRecord {
    /// The task's extras, made where there are none.
    var extra: RareTaskState {
        if let extras = self.extras { return extras }
        let extras = RareTaskState()
        self.extras = extras
        return extras
    }

    /// Where the body goes.
    var destination: Destination { self.extras?.destination ?? self.request.destination }

    /// The stream that is to be sent; nil for other bodies.
    var bodyStream: UploadStream? {
        guard case .stream(let stream) = self.request.body else { return nil }
        return self.extras?.bodyStream ?? stream
    }
}
