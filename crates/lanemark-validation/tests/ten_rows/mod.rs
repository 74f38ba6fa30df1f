//! A corpus with ten rows about fictitious drives.

/// Columns of the measurements.
pub(crate) const COLUMNS: &str = "id,drive,model,drive_kind,drives,interface,platform,path,os,tool,target,read_percent,pattern,block_bytes,queue_depth,threads,flush,span_bytes,duration_s,state,figure,value,unit,class,grade,url,place,accessed,note";

/// There are ten rows: eight that can be simulated, one over USB 2.0, and one that states neither queue depth nor
/// threads.
const ROWS: [&str; 10] = [
    "T01,Invented S1 500 GB,Invented S1,sata-ssd,1,SATA 6 Gb/s,a board,SATA 6 Gb/s,Linux,fio,device,100,sequential,131072,8,1,none,,,unknown,throughput,500,MB/s,path-limited,A",
    "T02,Invented S1 500 GB,Invented S1,sata-ssd,1,SATA 6 Gb/s,a board,SATA 6 Gb/s,Linux,fio,device,100,random,4096,1,1,none,,,unknown,iops,9000,IOPS,one-at-a-time,A",
    "T03,Invented S1 500 GB,Invented S1,sata-ssd,1,SATA 6 Gb/s,a board,SATA 6 Gb/s,Linux,fio,device,100,random,4096,1,1,none,,,unknown,latency_mean,110,us,one-at-a-time,A",
    "T04,Invented N2 1 TB,Invented N2,nvme-ssd,1,PCIe 3.0 x4,a board,PCIe 3.0 x4,Linux,fio,device,100,random,4096,4,1,none,,,unknown,iops,40000,IOPS,below-saturation,B",
    "T05,Invented N2 1 TB,Invented N2,nvme-ssd,1,PCIe 3.0 x4,,,Linux,fio,device,100,random,4096,64,4,none,,,unknown,iops,400000,IOPS,saturated,C",
    "T06,Invented N2 1 TB,Invented N2,nvme-ssd,1,PCIe 3.0 x4,a board,PCIe 3.0 x4,Linux,fio,device,0,random,4096,4,1,none,8000000000,,fresh,iops,100000,IOPS,writes-fresh,B",
    "T07,Invented N2 1 TB,Invented N2,nvme-ssd,1,PCIe 3.0 x4,a board,PCIe 3.0 x4,Linux,fio,device,70,random,4096,8,1,none,,,unknown,read_iops,60000,IOPS,mix,B",
    "T08,Invented D3 1 TB,Invented D3,hdd,1,SATA 6 Gb/s,a board,SATA 6 Gb/s,Linux,fio,device,100,random,4096,1,1,none,,,unknown,iops,80,IOPS,hard-disk,B",
    "T09,Invented S1 500 GB,Invented S1,sata-ssd,1,SATA 6 Gb/s,a board,USB 2.0,Linux,fio,device,100,sequential,131072,1,1,none,,,unknown,throughput,35,MB/s,path-limited,A",
    "T10,Invented S1 500 GB,Invented S1,sata-ssd,1,SATA 6 Gb/s,a board,SATA 6 Gb/s,Linux,a tool,device,100,random,4096,,,none,,,unknown,iops,9000,IOPS,below-saturation,C",
];

pub(crate) const RATINGS: &str = "\
drive,interface,year,nand,controller,dram,seq_read_mb_s,seq_write_mb_s,rand_read_iops,rand_write_iops,latency_us,endurance_tbw,rpm,source,note
Invented S1 500 GB,SATA 6 Gb/s,2018,TLC,,yes,560,500,90000,80000,,,,http://invented,
Invented N2 1 TB,PCIe 3.0 x4,2020,TLC,,yes,3400,3000,500000,480000,,,,http://invented,
Invented D3 1 TB,SATA 6 Gb/s,2016,,,,200,190,,,,,7200,http://invented,
";

/// Returns the measurements as the text of their file.
pub(crate) fn measurements() -> String {
    let rows = ROWS.map(|row| format!("{row},http://invented,a table,2026-01-01,\n"));
    format!("{COLUMNS}\n{}", rows.concat())
}
