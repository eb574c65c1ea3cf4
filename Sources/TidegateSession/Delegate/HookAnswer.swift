internal import HTTPTypes

/// What a hook answered.
enum HookAnswer: Sendable {
    case redirect(RedirectDecision)
    case authentication(AuthenticationAnswer)
    case disposition(ResponseDisposition)
    case headers([HTTPField])
    case newBody(UploadStream?)
}
