internal import HTTPTypes
internal import TidegateCore

/// What a hook answered.
enum HookAnswer: Sendable {
    case redirect(RedirectDecision)
    case authentication(AuthenticationAnswer)
    case serverTrust(ServerTrustVerdict)
    case disposition(ResponseDisposition)
    case headers([HTTPField])
    case newBody(UploadStream?)
}
