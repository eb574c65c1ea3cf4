internal import TidegateCore
internal import TidegateTransfer

/// What a task has of its bodies.
struct DownloadState {
    var partial = PartialBody()
    var file: DownloadFile?
    /// Whether the finished file has reached its destination; nil until that is tried.
    var commit: FileCommit?
    /// True once a temporary file of this task may be on the disk.
    var hasTemporary = false
    /// The file that is sent, as it was when the task began.
    var uploadIdentity: FileIdentity?
    /// True once it was checked whether the task can begin and end on this host.
    var isPrepared = false
    /// The response's body, if it is kept in memory.
    var body: [UInt8] = []
    /// What the response has to do with the validator store; nil without one.
    var revalidation: RevalidationState?
    /// How far the attempt had come that brought everything.
    var finalProgress: TransferProgress?
}
