internal import TidegateCore
internal import TidegateTransfer

/// What is kept of a task with hooks, observers or something else that few have.
final class DelegateState {
    /// What a hook is asked, and what depends on its answer.
    enum Question {
        /// Whether a redirect is followed; the response that redirects, and where it leads.
        case redirect(TaskResponse, Hop)
        /// Which credentials are sent; the challenge, and the status of the response that had it.
        case authentication(AuthenticationChallenge, status: Int)
        /// Whether a server is trusted.
        case serverTrust(ServerTrust)
        /// What becomes of a response; its attempt, and the attempt's end if that has come already.
        case disposition(AttemptID, end: Indirect<AttemptOutcome>?)
        /// Which fields are sent this time; the attempt and its addresses.
        case headers(AttemptID, [IPAddress])
        /// What is sent this time; the attempt and its addresses.
        case newBody(AttemptID, [IPAddress])
    }

    /// What observers get of the current attempt's body.
    struct ObservedBody {
        var observer: BodyObserver?
        /// Where in the body the next bytes begin.
        var offset: Int64 = 0
    }

    /// The question that is open.
    var question: Question?
    /// Counts questions, so that an answer to an older one is recognised.
    var questions = 0
    var observed = ObservedBody()
    /// Where the body goes instead of where the request says.
    var destination: Destination?
    /// The stream that takes the place of the request's own.
    var bodyStream: UploadStream?
    /// True once a hook has said where the body goes.
    var isDispositionKnown = false
    /// True if an unfinished download is kept although its task was cancelled.
    var keepsPartial = false
    /// Sums up a body that is gone once it is delivered.
    var digest: BodyDigest?
    /// True once the completion handler on another executor has returned, or is not waited for any more.
    var didFinishHandler = false
}
