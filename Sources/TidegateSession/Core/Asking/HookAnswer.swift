/// What a hook said.
enum HookAnswer: Sendable {
    case redirect(RedirectDecision)
    case identity(AuthenticationAnswer)
    case disposition(ResponseDisposition)
    case newBody(UploadStream?)
}
