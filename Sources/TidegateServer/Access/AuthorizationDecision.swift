/// Whether a request is answered, and what its answer carries.
struct AuthorizationDecision: Sendable {
    /// Why a request is not answered.
    enum Refusal: Sendable, Hashable {
        /// Requests come too fast; the next is answered after this time.
        case tooSoon(Duration)
        /// There is no user with such a password, or none was named.
        case unauthorized
        /// Too many passwords wait to be checked.
        case busy
    }

    /// Header fields of the answer.
    var headers: [ConfiguredHeader] = []
    /// Why the request is not answered; nil where it is.
    var refusal: Refusal?

    /// What is answered instead.
    func answer(for handler: Answer.Handler) -> Answer? {
        switch self.refusal {
        case nil: return nil
        case .tooSoon(let wait):
            var answer = Answer(handler, status: 429, line: "Too many requests.")
            let seconds = wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)
            answer.fields = [("retry-after", String(max(1, seconds)))]
            return answer
        case .unauthorized:
            var answer = Answer(handler, status: 401, line: "Only users with their password are answered here.")
            answer.fields = [("www-authenticate", "Basic realm=\"tidegate\", charset=\"UTF-8\"")]
            return answer
        case .busy:
            var answer = Answer(handler, status: 503, line: "Too many passwords to check at a time.")
            answer.fields = [("retry-after", "1")]
            return answer
        }
    }
}
